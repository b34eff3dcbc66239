/* refusal: how long refused owners wait, and when all of them are tried again. */
#include <ev.h>

#include "kube2sky/reconcile/owners_internal.h"
#include "kube2sky/reconcile/refusal_internal.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/unit_test.h"

enum { OWNERS = 1000 };

struct fixture {
    struct ev_loop *loop;
    struct refusals *refusals;
    struct owner *owners;
    unsigned due;
    unsigned due_wanted;
};

static void refusal_on_due(void *data, struct owner *owner)
{
    ((struct fixture *)data)->due++;
}

static void refusal_set_up(struct fixture *f)
{
    f->loop = ev_loop_new(EVFLAG_AUTO);
    f->owners = xcalloc(OWNERS, sizeof(*f->owners));
    f->refusals = refusals_new(&(struct refusals_config){
        .loop = f->loop,
        .due = refusal_on_due,
        .data = f,
    });
}

static void refusal_tear_down(struct fixture *f)
{
    refusals_free(f->refusals);
    for (size_t i = 0; i < OWNERS; i++) {
        assert_null(f->owners[i].refusal);
    }
    free(f->owners);
    ev_loop_destroy(f->loop);
}

UNIT_FIXTURE(struct fixture, refusal_set_up, refusal_tear_down)

static bool refusal_is_due(const void *data)
{
    const struct fixture *f = data;
    return f->due >= f->due_wanted;
}

static void refusal_refuse(struct fixture *f, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        refusal_wait(f->refusals, &f->owners[i]);
        assert_true(refusal_is_waiting(&f->owners[i]));
    }
}

UNIT_TEST_ON(test_each_waits_by_itself, struct fixture *f)
{
    refusal_refuse(f, 2);
    f->due_wanted = 2;
    loop_until(f->loop, refusal_is_due, f);
    assert_false(refusal_is_waiting(&f->owners[0]) || refusal_is_waiting(&f->owners[1]));
    assert_non_null(f->owners[0].refusal); /* the next wait is longer */
    assert_int_equal(refusals_of(f->refusals, f->owners[0].class), 2);
    refusal_end(f->refusals, &f->owners[0]);
    assert_null(f->owners[0].refusal);
    assert_int_equal(refusals_of(f->refusals, f->owners[0].class), 1);
    refusal_end(f->refusals, &f->owners[0]); /* nothing happens */
}

UNIT_TEST_ON(test_many_in_a_row_are_general, struct fixture *f)
{
    refusal_refuse(f, REFUSALS_AT_ONCE - 1);
    assert_false(refusals_are_general(f->refusals));
    refusal_end(f->refusals, &f->owners[0]);
    refusal_refuse(f, REFUSALS_AT_ONCE - 1);
    assert_false(refusals_are_general(f->refusals));
    refusal_refuse(f, 1);
    assert_true(refusals_are_general(f->refusals));
}

/* A thousand wait for ten seconds or so, unless one is accepted. */
UNIT_TEST_ON(test_a_success_lets_all_try_again, struct fixture *f)
{
    refusal_refuse(f, OWNERS);
    refusal_end(f->refusals, &f->owners[0]);
    refusals_retry(f->refusals);
    assert_int_equal(f->due, OWNERS - 1);
    assert_false(refusal_is_waiting(&f->owners[1]));
}
