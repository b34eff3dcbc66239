/* conflict: when an owner must wait before its keys are restored, for how long, and until when.
 * With limits of milliseconds. */
#include <ev.h>

#include "common/etcd/etcd_kv.h"
#include "kube2sky/reconcile/conflict_internal.h"
#include "kube2sky/reconcile/ownership_internal.h"
#include "kube2sky/reconcile/transactions_internal.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/unit_test.h"

enum { OWNERS = 3, LONG_MS = 60000 };

struct fixture {
    struct ev_loop *loop;
    struct ownership ownership;
    struct conflicts *conflicts;
    struct owner owners[OWNERS];
    struct transaction transaction; /* one put */
    unsigned due;
    unsigned due_wanted;
};

static void conflict_on_due(void *data, struct owner *owner)
{
    ((struct fixture *)data)->due++;
}

static void conflict_start(struct fixture *f, struct conflict_limits limits)
{
    f->conflicts = conflicts_new(&(struct conflicts_config){
        .loop = f->loop,
        .ownership = &f->ownership,
        .limits = limits,
        .due = conflict_on_due,
        .data = f,
    });
}

static void conflict_set_up(struct fixture *f)
{
    static const struct ownership_config ownership = {.domain = "test."};
    f->loop = ev_loop_new(EVFLAG_AUTO);
    ownership_init(&f->ownership, &ownership);
    for (size_t i = 0; i < OWNERS; i++) {
        f->owners[i].id = slice_str(i ? "svc/default/other" : "svc/default/web");
    }
    plan_batch_init(&f->transaction.batch, 8);
    plan_add(&f->transaction.batch.plan,
             &(struct etcd_op){.kind = ETCD_OP_PUT,
                               .key = slice_str("/skydns/test/svc/default/web/a"),
                               .value = slice_str("ours")},
             7);
}

static void conflict_tear_down(struct fixture *f)
{
    conflicts_free(f->conflicts);
    plan_batch_fini(&f->transaction.batch);
    ownership_fini(&f->ownership);
    ev_loop_destroy(f->loop);
}

UNIT_FIXTURE(struct fixture, conflict_set_up, conflict_tear_down)

static void conflict_restore(struct fixture *f, size_t owner, unsigned times)
{
    const struct passenger passenger = {.owner = &f->owners[owner], .is_restoring = true};
    for (unsigned i = 0; i < times; i++) {
        conflict_restored(f->conflicts, &f->transaction, &passenger, 0, 1);
    }
}

static bool conflict_is_due(const void *data)
{
    const struct fixture *f = data;
    return f->due >= f->due_wanted;
}

static void wait_due(struct fixture *f, unsigned count)
{
    f->due_wanted = count;
    loop_until(f->loop, conflict_is_due, f);
    assert_int_equal(f->due, count);
}

UNIT_TEST_ON(test_some_restorations_are_free, struct fixture *f)
{
    CLEANUP_BUF struct buf text = buf_of(1024);
    conflict_start(f, (struct conflict_limits){.rest_first_ms = LONG_MS, .rest_max_ms = LONG_MS});
    assert_false(conflict_must_rest(f->conflicts, &f->owners[0]));
    conflict_restore(f, 0, CONFLICT_FREE - 1);
    assert_false(conflict_must_rest(f->conflicts, &f->owners[0]));
    assert_int_equal(conflicts_count(f->conflicts), 0);
    assert_false(conflicts_explain(f->conflicts, OWNER_RECORDS, &text));
    conflict_restore(f, 0, 1);
    assert_true(conflict_must_rest(f->conflicts, &f->owners[0]));
    conflict_restore(f, 1, 1);
    assert_false(conflict_must_rest(f->conflicts, &f->owners[1]));
    assert_int_equal(conflicts_count(f->conflicts), 1);
    assert_true(conflicts_explain(f->conflicts, OWNER_RECORDS, &text));
    assert_string_equal(
        buf_cstr(&text),
        "another writer keeps changing keys of 1 services, such as svc/default/web; "
        "a second kube2sky without --leader-elect?");
}

UNIT_TEST_ON(test_a_rest_ends_and_then_the_conflict, struct fixture *f)
{
    const struct etcd_kv kv = {.key = slice_str("/skydns/test/svc/default/web/a"),
                               .value = slice_str("theirs")};
    conflict_start(f, (struct conflict_limits){.rest_first_ms = 100, .rest_max_ms = 100});
    conflict_restore(f, 0, CONFLICT_FREE);
    conflict_saw(&f->owners[0], &kv);
    assert_true(conflict_must_rest(f->conflicts, &f->owners[0]));
    wait_due(f, 1);
    assert_non_null(f->owners[0].conflict);
    assert_false(conflict_must_rest(f->conflicts, &f->owners[0]));
    assert_int_equal(conflicts_count(f->conflicts), 1);
    wait_due(f, 2);
    assert_null(f->owners[0].conflict);
    assert_int_equal(conflicts_count(f->conflicts), 0);
    conflict_restore(f, 0, CONFLICT_FREE - 1); /* counted anew */
    assert_int_equal(conflicts_count(f->conflicts), 0);
}

/* A few back off shortly; many share the rate of transactions. */
UNIT_TEST_ON(test_a_rest_is_longer_with_more_of_them, struct fixture *f)
{
    conflict_start(f, (struct conflict_limits){
                          .rest_first_ms = 1,
                          .rest_max_ms = 1,
                          .rest_each_ms = LONG_MS,
                          .calm_ms = 1,
                      });
    conflict_restore(f, 0, CONFLICT_FREE);
    conflict_restore(f, 1, CONFLICT_FREE);
    conflict_restore(f, 2, 1); /* not contested: its conflict of a millisecond ends first */
    assert_int_equal(conflicts_count(f->conflicts), 2);
    assert_true(conflict_must_rest(f->conflicts, &f->owners[1]));
    wait_due(f, 1);
    assert_null(f->owners[2].conflict);
    assert_non_null(f->owners[1].conflict);
}

/* Values of other writers have any size; only their beginning is stored. */
UNIT_TEST_ON(test_what_they_write_may_be_large, struct fixture *f)
{
    size_t len = 1024 * 1024;
    CLEANUP_FREE char *large = xcalloc(1, len + 1);
    memset(large, 'x', len);
    conflict_start(f, (struct conflict_limits){.rest_first_ms = LONG_MS, .rest_max_ms = LONG_MS});
    conflict_restore(f, 0, CONFLICT_FREE);
    conflict_saw(&f->owners[0],
                 &(struct etcd_kv){.key = slice_str(large), .value = slice_str(large)});
    memset(large, 'y', len);
    assert_true(conflict_must_rest(f->conflicts, &f->owners[0]));
}

/* Somebody writes below ever new names: how many are remembered is limited. */
UNIT_TEST_ON(test_not_more_than_a_number_are_remembered, struct fixture *f)
{
    struct owner *many = xcalloc(CONFLICTS_MAX + 1, sizeof(*many));
    conflict_start(f, (struct conflict_limits){
                          .rest_first_ms = LONG_MS, .rest_max_ms = LONG_MS, .calm_ms = LONG_MS});
    for (size_t i = 0; i <= CONFLICTS_MAX; i++) {
        const struct passenger passenger = {.owner = &many[i], .is_restoring = true};
        conflict_restored(f->conflicts, &f->transaction, &passenger, 0, 1);
    }
    assert_non_null(many[CONFLICTS_MAX - 1].conflict);
    assert_null(many[CONFLICTS_MAX].conflict);
    assert_false(conflict_must_rest(f->conflicts, &many[CONFLICTS_MAX]));
    conflicts_free(f->conflicts);
    f->conflicts = NULL;
    assert_null(many[0].conflict);
    free(many);
}
