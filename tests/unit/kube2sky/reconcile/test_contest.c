/* contest: when an owner rests before its keys are restored, for how long, and until when. With
 * limits of milliseconds. */
#include <stdint.h>

#include <ev.h>
#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/etcd/etcd_kv.h"
#include "kube2sky/reconcile/contest_internal.h"
#include "kube2sky/reconcile/flights_internal.h"
#include "kube2sky/reconcile/ownership_internal.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/unit_test.h"

enum { OWNERS = 3, LONG_MS = 60000 };

struct fixture {
    struct ev_loop *loop;
    struct ownership ownership;
    struct contests *contests;
    struct owner owners[OWNERS];
    struct flight flight; /* one put */
    unsigned due;
    unsigned due_wanted;
};

static void on_due(void *data, struct owner *owner)
{
    ((struct fixture *)data)->due++;
}

static void start(struct fixture *f, struct contest_limits limits)
{
    f->contests = contests_new(&(struct contests_config){
        .loop = f->loop,
        .ownership = &f->ownership,
        .limits = limits,
        .due = on_due,
        .data = f,
    });
}

static int set_up(void **state)
{
    static const struct ownership_config ownership = {.domain = "test."};
    struct fixture *f = xcalloc(1, sizeof(*f));
    f->loop = ev_loop_new(EVFLAG_AUTO);
    ownership_init(&f->ownership, &ownership);
    for (size_t i = 0; i < OWNERS; i++) {
        f->owners[i].id = slice_str(i ? "svc/default/other" : "svc/default/web");
    }
    plan_batch_init(&f->flight.batch, 8);
    plan_add(&f->flight.batch.plan,
             &(struct etcd_op){.kind = ETCD_OP_PUT,
                               .key = slice_str("/skydns/test/svc/default/web/a"),
                               .value = slice_str("ours")},
             7);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    contests_free(f->contests);
    plan_batch_fini(&f->flight.batch);
    ownership_fini(&f->ownership);
    ev_loop_destroy(f->loop);
    free(f);
    return 0;
}

UNIT_TESTS_EACH(set_up, tear_down)

static void restore(struct fixture *f, size_t owner, unsigned times)
{
    const struct passenger passenger = {.owner = &f->owners[owner], .is_restoring = true};
    for (unsigned i = 0; i < times; i++) {
        contest_restored(f->contests, &f->flight, &passenger, 0, 1);
    }
}

static bool is_due(const void *data)
{
    const struct fixture *f = data;
    return f->due >= f->due_wanted;
}

static void wait_due(struct fixture *f, unsigned count)
{
    f->due_wanted = count;
    loop_until(f->loop, is_due, f);
    assert_int_equal(f->due, count);
}

UNIT_TEST(test_some_restorations_are_free)
{
    struct fixture *f = *state;
    struct buf text;
    buf_init(&text, 1024);
    start(f, (struct contest_limits){.rest_first_ms = LONG_MS, .rest_max_ms = LONG_MS});
    assert_false(contest_must_rest(f->contests, &f->owners[0]));
    restore(f, 0, CONTEST_FREE - 1);
    assert_false(contest_must_rest(f->contests, &f->owners[0]));
    assert_int_equal(contests_count(f->contests), 0);
    assert_false(contests_explain(f->contests, OWNER_RECORDS, &text));
    restore(f, 0, 1);
    assert_true(contest_must_rest(f->contests, &f->owners[0]));
    restore(f, 1, 1);
    assert_false(contest_must_rest(f->contests, &f->owners[1]));
    assert_int_equal(contests_count(f->contests), 1);
    assert_true(contests_explain(f->contests, OWNER_RECORDS, &text));
    assert_string_equal(
        buf_cstr(&text),
        "another writer keeps changing keys of 1 services, such as svc/default/web; "
        "a second kube2sky without --leader-elect?");
    buf_fini(&text);
}

UNIT_TEST(test_a_rest_ends_and_then_the_contest)
{
    struct fixture *f = *state;
    const struct etcd_kv kv = {.key = slice_str("/skydns/test/svc/default/web/a"),
                               .value = slice_str("theirs")};
    start(f, (struct contest_limits){.rest_first_ms = 100, .rest_max_ms = 100});
    restore(f, 0, CONTEST_FREE);
    contest_saw(&f->owners[0], &kv);
    assert_true(contest_must_rest(f->contests, &f->owners[0]));
    wait_due(f, 1);
    assert_non_null(f->owners[0].contest);
    assert_false(contest_must_rest(f->contests, &f->owners[0]));
    assert_int_equal(contests_count(f->contests), 1);
    wait_due(f, 2);
    assert_null(f->owners[0].contest);
    assert_int_equal(contests_count(f->contests), 0);
    restore(f, 0, CONTEST_FREE - 1); /* counted anew */
    assert_int_equal(contests_count(f->contests), 0);
}

/* Few rest shortly; many share the rate of transactions. */
UNIT_TEST(test_a_rest_is_longer_with_more_of_them)
{
    struct fixture *f = *state;
    start(f, (struct contest_limits){
                 .rest_first_ms = 1,
                 .rest_max_ms = 1,
                 .rest_each_ms = LONG_MS,
                 .calm_ms = 1,
             });
    restore(f, 0, CONTEST_FREE);
    restore(f, 1, CONTEST_FREE);
    restore(f, 2, 1); /* not contested: its contest of a millisecond ends first */
    assert_int_equal(contests_count(f->contests), 2);
    assert_true(contest_must_rest(f->contests, &f->owners[1]));
    wait_due(f, 1);
    assert_null(f->owners[2].contest);
    assert_non_null(f->owners[1].contest);
}

/* What others write has any size; only its beginning is kept. */
UNIT_TEST(test_what_they_write_may_be_large)
{
    struct fixture *f = *state;
    size_t len = 1024 * 1024;
    char *large = xcalloc(1, len + 1);
    memset(large, 'x', len);
    start(f, (struct contest_limits){.rest_first_ms = LONG_MS, .rest_max_ms = LONG_MS});
    restore(f, 0, CONTEST_FREE);
    contest_saw(&f->owners[0],
                &(struct etcd_kv){.key = slice_str(large), .value = slice_str(large)});
    memset(large, 'y', len);
    assert_true(contest_must_rest(f->contests, &f->owners[0]));
    free(large);
}

/* Somebody writes below ever new names: how many are remembered is limited. */
UNIT_TEST(test_not_more_than_a_number_are_remembered)
{
    struct fixture *f = *state;
    struct owner *many = xcalloc(CONTESTS_MAX + 1, sizeof(*many));
    start(f, (struct contest_limits){
                 .rest_first_ms = LONG_MS, .rest_max_ms = LONG_MS, .calm_ms = LONG_MS});
    for (size_t i = 0; i <= CONTESTS_MAX; i++) {
        const struct passenger passenger = {.owner = &many[i], .is_restoring = true};
        contest_restored(f->contests, &f->flight, &passenger, 0, 1);
    }
    assert_non_null(many[CONTESTS_MAX - 1].contest);
    assert_null(many[CONTESTS_MAX].contest);
    assert_false(contest_must_rest(f->contests, &many[CONTESTS_MAX]));
    contests_free(f->contests);
    f->contests = NULL;
    assert_null(many[0].contest);
    free(many);
}
