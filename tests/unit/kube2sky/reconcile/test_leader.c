/* leader, with a real etcd: who leads, who follows, and that a writer that wrongly believes to lead
 * cannot write. */
#include <ev.h>

#include "common/base/buf.h"
#include "common/etcd/etcd.h"
#include "kube2sky/reconcile/leader_internal.h"
#include "tests/support/etcd_proc.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/unit_test.h"

/* The first never runs out in a test, however slow the machine; etcd grants no less than the last.
 */
enum { LONG_LEASE_S = 600, SHORT_LEASE_S = 5, SHORTEST_LEASE_S = 2 };

static struct etcd_proc *proc;
static unsigned domains_used;

struct candidate {
    struct leader *leader;
    unsigned gained;
    unsigned lost;
    bool has_resigned;
};

struct fixture {
    struct ev_loop *loop;
    struct etcd *etcd;
    char *domain; /* "t7." */
    char *key;    /* "/kube2sky/t7/leader" */
    int64_t lease_s;
    struct candidate a;
    struct candidate b;
    const struct candidate *waited_for;
};

static int start_etcd(void **state)
{
    proc = etcd_proc_start();
    return 0;
}

static int end_etcd(void **state)
{
    etcd_proc_free(proc);
    return 0;
}

static void leader_set_up(struct fixture *f)
{
    struct err err = {.code = 0};
    f->loop = ev_loop_new(EVFLAG_AUTO);
    f->domain = xasprintf("t%u.", ++domains_used);
    f->key = xasprintf("/kube2sky/t%u/leader", domains_used);
    const struct etcd_config config = {
        .loop = f->loop,
        .endpoints = etcd_proc_url(proc),
        .call_timeout_ms = 10000,
    };
    assert_int_equal(etcd_new(&config, &f->etcd, &err), 0);
    f->lease_s = LONG_LEASE_S;
}

static void leader_tear_down(struct fixture *f)
{
    leader_stop(f->a.leader);
    leader_stop(f->b.leader);
    etcd_free(f->etcd);
    ev_loop_destroy(f->loop);
    free(f->domain);
    free(f->key);
}

UNIT_FIXTURE(struct fixture, leader_set_up, leader_tear_down)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(start_etcd, end_etcd)

static void on_changed(void *data, bool is_leading)
{
    struct candidate *c = data;
    c->gained += is_leading;
    c->lost += !is_leading;
}

static void leader_on_resigned(void *data)
{
    struct candidate *c = data;
    c->has_resigned = true;
}

static void reconcile_leader_start(struct fixture *f, struct candidate *c)
{
    c->leader = leader_start(&(struct leader_config){
        .loop = f->loop,
        .etcd = f->etcd,
        .domain = f->domain,
        .lease_s = f->lease_s,
        .changed = on_changed,
        .data = c,
    });
}

static bool is_leading(const void *data)
{
    return leader_is_leading(((const struct fixture *)data)->waited_for->leader);
}

static bool leader_is_following(const void *data)
{
    const struct candidate *c = ((const struct fixture *)data)->waited_for;
    return !leader_is_leading(c->leader) && *leader_holder(c->leader);
}

static bool has_resigned(const void *data)
{
    return ((const struct fixture *)data)->waited_for->has_resigned;
}

static bool has_lost(const void *data)
{
    return ((const struct fixture *)data)->waited_for->lost > 0;
}

/* Not the name that a person wrote. */
static bool is_following_a_candidate(const void *data)
{
    const struct candidate *c = ((const struct fixture *)data)->waited_for;
    return leader_is_following(data) && strncmp(leader_holder(c->leader), "by hand", 7) != 0;
}

static void leader_wait_for(struct fixture *f, const struct candidate *c,
                            bool (*what)(const void *data))
{
    f->waited_for = c;
    loop_until(f->loop, what, f);
}

/* a leads, b follows. */
static void start_both(struct fixture *f)
{
    reconcile_leader_start(f, &f->a);
    leader_wait_for(f, &f->a, is_leading);
    reconcile_leader_start(f, &f->b);
    leader_wait_for(f, &f->b, leader_is_following);
    assert_string_equal(leader_holder(f->b.leader), leader_holder(f->a.leader));
}

/* Whether a write under this condition is executed. */
static bool may_write(struct fixture *f, const struct etcd_compare *condition)
{
    const struct etcd_op put = {
        .kind = ETCD_OP_PUT,
        .key = slice_str("/written"),
        .value = slice_str("x"),
    };
    const struct etcd_txn txn = {
        .compares = condition,
        .compare_count = 1,
        .ops = &put,
        .op_count = 1,
    };
    struct etcd_txn_reply reply;
    struct err err = {.code = 0};
    while (sync_txn(f->loop, f->etcd, &txn, &reply, &err) != 0) {
        assert_int_equal(err.code, ERR_UNAVAILABLE); /* a connection from before a restart */
    }
    return reply.succeeded;
}

UNIT_TEST_ON(test_one_of_two_leads, struct fixture *f)
{
    start_both(f);
    assert_false(leader_is_leading(f->b.leader));
    struct etcd_compare condition = leader_condition(f->a.leader);
    assert_true(may_write(f, &condition));
}

UNIT_TEST_ON(test_who_stops_hands_over, struct fixture *f)
{
    start_both(f);
    leader_resign(f->a.leader, leader_on_resigned, &f->a);
    assert_false(f->a.has_resigned);
    assert_false(leader_is_leading(f->a.leader));
    leader_wait_for(f, &f->a, has_resigned);
    leader_wait_for(f, &f->b, is_leading);
    leader_resign(f->b.leader, leader_on_resigned, &f->b);
    leader_wait_for(f, &f->b, has_resigned);
    assert_int_equal(f->a.gained + f->b.gained, 2);
}

UNIT_TEST_ON(test_a_follower_resigns_at_once, struct fixture *f)
{
    start_both(f);
    leader_resign(f->b.leader, leader_on_resigned, &f->b);
    leader_wait_for(f, &f->b, has_resigned);
    assert_true(leader_is_leading(f->a.leader));
}

/* Dies without notice: its key goes with its lease. */
UNIT_TEST_ON(test_who_dies_is_replaced, struct fixture *f)
{
    f->lease_s = SHORT_LEASE_S;
    start_both(f);
    leader_stop(f->a.leader);
    f->a.leader = NULL;
    leader_wait_for(f, &f->b, is_leading);
}

/* Returns a copy of leader_condition, for use when the key has changed. */
static struct etcd_compare condition_of(const struct candidate *c, char **ret_value)
{
    struct etcd_compare condition = leader_condition(c->leader);
    *ret_value = xstrndup(condition.value.ptr, condition.value.len);
    condition.value = slice_str(*ret_value);
    return condition;
}

/* Writes prepared as leader must fail once another leads. */
UNIT_TEST_ON(test_the_condition_of_one_replaced_fails, struct fixture *f)
{
    char *value;
    start_both(f);
    struct etcd_compare old = condition_of(&f->a, &value);
    assert_true(may_write(f, &old));
    sync_del(f->loop, f->etcd, f->key); /* as if its lease had run out while it was paused */
    leader_wait_for(f, &f->a, has_lost);
    assert_false(may_write(f, &old));
    f->waited_for = &f->b;
    while (!leader_is_leading(f->a.leader) && !leader_is_leading(f->b.leader)) {
        ev_run(f->loop, EVRUN_ONCE);
    }
    assert_false(may_write(f, &old));
    bool is_a = leader_is_leading(f->a.leader);
    struct etcd_compare now = leader_condition(is_a ? f->a.leader : f->b.leader);
    assert_true(may_write(f, &now));
    free(value);
}

/* An etcd restored from a backup uses revisions again: the key is another claim's, its revision of
 * creation the same. */
UNIT_TEST_ON(test_the_condition_of_one_overwritten_fails, struct fixture *f)
{
    char *value;
    reconcile_leader_start(f, &f->a);
    leader_wait_for(f, &f->a, is_leading);
    struct etcd_compare old = condition_of(&f->a, &value);
    assert_true(may_write(f, &old));
    (void)sync_put(f->loop, f->etcd, f->key, slice_str("another-0123abcd"));
    assert_false(may_write(f, &old));
    leader_wait_for(f, &f->a, has_lost);
    free(value);
}

/* A person wrote the key: both candidates say so, and one of them leads after the time of a lease.
 */
UNIT_TEST_ON(test_a_key_without_a_lease_is_overwritten, struct fixture *f)
{
    CLEANUP_BUF struct buf text = buf_of(1024);
    f->lease_s = SHORT_LEASE_S;
    (void)sync_put(f->loop, f->etcd, f->key, slice_str("by hand"));
    reconcile_leader_start(f, &f->a);
    reconcile_leader_start(f, &f->b);
    leader_wait_for(f, &f->a, leader_is_following);
    leader_wait_for(f, &f->b, leader_is_following);
    assert_true(leader_explain(f->a.leader, &text));
    assert_non_null(strstr(buf_cstr(&text), f->key));
    (void)sync_put(f->loop, f->etcd, f->key, slice_str("by hand again")); /* waits anew */
    f->waited_for = &f->b;
    while (!leader_is_leading(f->a.leader) && !leader_is_leading(f->b.leader)) {
        ev_run(f->loop, EVRUN_ONCE);
    }
    leader_wait_for(f, leader_is_leading(f->a.leader) ? &f->b : &f->a, is_following_a_candidate);
    buf_clear(&text);
    assert_false(leader_explain(f->a.leader, &text) || leader_explain(f->b.leader, &text));
    assert_int_equal(f->a.gained + f->b.gained, 1);
    bool is_a = leader_is_leading(f->a.leader);
    struct etcd_compare now = leader_condition(is_a ? f->a.leader : f->b.leader);
    assert_true(may_write(f, &now));
}

/* etcd hangs for longer than the lease: nobody leads meanwhile, one does afterwards. */
UNIT_TEST_ON(test_an_etcd_that_hangs, struct fixture *f)
{
    f->lease_s = SHORT_LEASE_S;
    start_both(f);
    char *value;
    struct etcd_compare old = condition_of(&f->a, &value);
    etcd_proc_pause(proc);
    leader_wait_for(f, &f->a, has_lost);
    assert_false(leader_is_leading(f->b.leader));
    etcd_proc_resume(proc);
    while (!leader_is_leading(f->a.leader) && !leader_is_leading(f->b.leader)) {
        ev_run(f->loop, EVRUN_ONCE);
    }
    assert_true(leader_is_leading(f->a.leader) != leader_is_leading(f->b.leader));
    assert_false(may_write(f, &old));
    free(value);
}

UNIT_TEST_ON(test_an_etcd_that_is_restarted, struct fixture *f)
{
    start_both(f);
    etcd_proc_kill(proc);
    etcd_proc_restart(proc);
    while (!leader_is_leading(f->a.leader) && !leader_is_leading(f->b.leader)) {
        ev_run(f->loop, EVRUN_ONCE);
    }
    bool is_a = leader_is_leading(f->a.leader);
    struct etcd_compare now = leader_condition(is_a ? f->a.leader : f->b.leader);
    assert_true(may_write(f, &now));
}

static unsigned changes_of(const struct fixture *f)
{
    return f->a.gained + f->a.lost + f->b.gained + f->b.lost;
}

/* This takes keeping its lease alive. A machine that stands still for as long as the lease ends it
 * rightly: once is enough, and never happens without renewals. */
UNIT_TEST_ON(test_leads_for_longer_than_a_lease, struct fixture *f)
{
    enum { TRIES = 20 };
    unsigned tries = 0, before;
    f->lease_s = SHORTEST_LEASE_S;
    reconcile_leader_start(f, &f->a);
    leader_wait_for(f, &f->a, is_leading);
    reconcile_leader_start(f, &f->b);
    do {
        before = changes_of(f);
        double end = ev_time() + 2.5 * SHORTEST_LEASE_S;
        while (ev_time() < end) {
            ev_run(f->loop, EVRUN_ONCE);
        }
    } while (changes_of(f) != before && ++tries < TRIES);
    assert_int_equal(changes_of(f), before);
    assert_true(leader_is_leading(f->a.leader) != leader_is_leading(f->b.leader));
}
