/* reconciler: transactions whose reply is lost or late, so that their outcome is unknown. */
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/reconcile/reconciler_bed.h"

/* Connects the reconciler to etcd through a relay, and syncs. */
static void synced_through_relay(struct fixture *f, struct fixture *other)
{
    struct err err = {.code = 0};
    start_other(f, other);
    f->relay = relay_new(f->loop, etcd_proc_port(proc));
    etcd_free(f->etcd);
    const struct etcd_config config = {
        .loop = f->loop,
        .endpoints = relay_url(f->relay),
        .call_timeout_ms = 10000,
    };
    assert_int_equal(etcd_new(&config, &f->etcd, &err), 0);
    start_reconciler(f);
    list_web(f);
    wait_synced(f);
    wait_drained(f);
}

/* The records in etcd: the newest mod_revision, and how many there are. The revision of etcd itself
 * moves with the serial, too. */
struct records_state {
    int64_t last_modified;
    size_t count;
};

static struct records_state read_records_state(struct fixture *other)
{
    struct tree tree;
    read_tree(other, 0, &tree);
    buf_fini(&tree.text);
    return (struct records_state){tree.last_modified, tree.count};
}

static bool is_same_state(struct records_state a, struct records_state b)
{
    return a.last_modified == b.last_modified && a.count == b.count;
}

/* Runs our loop until the other client sees other records in etcd, and returns their state. */
static struct records_state until_records_move(struct fixture *f, struct fixture *other,
                                               struct records_state from)
{
    struct records_state now;
    while (is_same_state(now = read_records_state(other), from)) {
        ev_run(f->loop, EVRUN_ONCE);
    }
    return now;
}

static bool has_held(const void *data)
{
    const struct fixture *f = data;
    return relay_held(f->relay) >= f->want;
}

static bool has_reached_nobody(const void *data)
{
    const struct fixture *f = data;
    return relay_unheard(f->relay) >= f->want;
}

static bool has_done(const void *data)
{
    const struct fixture *f = data;
    return reconciler_get_stats(f->reconciler).transaction_count >= f->want;
}

static void wait_for_transactions(struct fixture *f, uint64_t count)
{
    f->want = count;
    loop_until(f->loop, has_done, f);
    wait_drained(f);
    assert_int_equal(reconciler_get_stats(f->reconciler).transaction_count, count);
}

UNIT_TESTS_EACH(set_up, tear_down)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(start_etcd, end_etcd)

/* etcd executes it, but neither its reply nor the watch's events reach us: it is found to be done,
 * and not resent. */
UNIT_TEST_ON(test_a_reply_that_is_lost, struct fixture *f)
{
    CLEANUP(end_other) struct fixture other;
    synced_through_relay(f, &other);
    struct records_state records = read_records_state(&other);
    uint64_t transaction_count = reconciler_get_stats(f->reconciler).transaction_count;

    relay_set(f->relay, RELAY_MUTE);
    put_service_with_port(f, "web", "10.0.0.10", 81);
    put_service(f, "new", "10.0.0.26");
    records = until_records_move(f, &other, records);
    relay_cut(f->relay);
    relay_set(f->relay, RELAY_OPEN);
    wait_for_transactions(f, transaction_count + 1);
    assert_counts(f, 6, 2);
    assert_true(is_same_state(read_records_state(&other), records));

    relay_set(f->relay, RELAY_MUTE); /* only deletes */
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "web");
    records = until_records_move(f, &other, records);
    relay_cut(f->relay);
    relay_set(f->relay, RELAY_OPEN);
    wait_for_transactions(f, transaction_count + 2);
    assert_counts(f, 6, 4);
    assert_true(is_same_state(read_records_state(&other), records));
    assert_tree(f, KUBERNETES "svc/default/new/734242 " IP("10.0.0.26") "\n");
}

/* The same, and the object changes before the outcome is known: only the difference is written. */
UNIT_TEST_ON(test_a_change_while_a_reply_is_lost, struct fixture *f)
{
    CLEANUP(end_other) struct fixture other;
    synced_through_relay(f, &other);
    struct records_state records = read_records_state(&other);
    uint64_t transaction_count = reconciler_get_stats(f->reconciler).transaction_count;
    relay_set(f->relay, RELAY_MUTE);
    put_service_with_port(f, "web", "10.0.0.10", 81);
    (void)until_records_move(f, &other, records);
    put_service_with_port(f, "web", "10.0.0.10", 82);
    relay_cut(f->relay);
    relay_set(f->relay, RELAY_OPEN);
    wait_for_transactions(f, transaction_count + 2);
    assert_counts(f, 3 + 2 + 1, 2);
}

/* A change's request takes so long to arrive that we have given it up and sent another. */
static void deliver_late(struct fixture *f, struct fixture *other, bool has_changed)
{
    uint64_t transaction_count = reconciler_get_stats(f->reconciler).transaction_count;
    relay_set(f->relay, RELAY_HOLD);
    put_service(f, "web", "10.0.0.10"); /* two deletes, one put */
    put_service(f, "new", "10.0.0.26");
    f->want = 400;
    loop_until(f->loop, has_held, f);
    relay_cut(f->relay);
    relay_set(f->relay, RELAY_OPEN);
    if (has_changed) {
        put_service_with_port(f, "web", "10.0.0.9", 80); /* as before */
    }
    wait_for_transactions(f, transaction_count + 1);
    struct records_state records = read_records_state(other);

    relay_deliver(f->relay);
    if (has_changed) {
        wait_for_transactions(f, transaction_count + 2);
        return;
    }
    f->want = 80; /* a reply, with its headers */
    loop_until(f->loop, has_reached_nobody, f);
    wait_drained(f);
    assert_true(is_same_state(read_records_state(other), records));
}

UNIT_TEST_ON(test_a_request_that_arrives_late_is_not_done, struct fixture *f)
{
    CLEANUP(end_other) struct fixture other;
    synced_through_relay(f, &other);
    deliver_late(f, &other, false);
    assert_counts(f, 3 + 2, 2);
    assert_tree(f, KUBERNETES "svc/default/new/734242 " IP(
                       "10.0.0.26") "\nsvc/default/web/21172049 " IP("10.0.0.10") "\n");
}

UNIT_TEST_ON(test_a_request_that_arrives_late_is_mended, struct fixture *f)
{
    CLEANUP(end_other) struct fixture other;
    synced_through_relay(f, &other);
    deliver_late(f, &other, true);
    CLEANUP_FREE char *want = xasprintf(
        KUBERNETES "svc/default/new/734242 " IP("10.0.0.26") "\nsvc/default/web/19ccb11 " IP(
            "10.0.0.9") "\n"
                        "svc/default/web/_tcp/_http/19ccb11 "
                        "{\"host\":\"web.default.svc.%s\",\"port\":80" TAIL "\n",
        f->domain);
    assert_tree(f, want);
}
