/* reconciler: what others write between a plan and its transaction is neither deleted nor, with
 * --own-only-written, overwritten unseen; and it holds up no other owner. */
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/reconcile/reconciler_bed.h"

#define WEB      "svc/default/web/19ccb11"
#define WEB_PORT "svc/default/web/_tcp/_http/19ccb11"

/* Our own loop stands still while the other writes: our plan knows nothing of it. */
static void synced_with_web(struct fixture *f, struct fixture *other)
{
    start_other(f, other);
    start_reconciler(f);
    list_web(f);
    wait_synced(f);
    wait_drained(f);
    assert_counts(f, 3, 0);
}

static uint64_t conflict_count(const struct fixture *f)
{
    return reconciler_get_stats(f->reconciler).conflict_count;
}

UNIT_TESTS_EACH(set_up, tear_down)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(start_etcd, end_etcd)

/* The last of two deletes: not the one that has always been a condition. */
UNIT_TEST_ON(test_a_value_written_after_the_plan_is_not_deleted, struct fixture *f)
{
    CLEANUP(end_other) struct fixture other;
    f->own_only_written = true;
    synced_with_web(f, &other);
    put(&other, WEB_PORT, "{\"text\":\"mine\"}");
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "web");
    f->want = 1;
    loop_until(f->loop, has_deleted, f);
    wait_drained(f);
    assert_tree(f, KUBERNETES WEB_PORT " {\"text\":\"mine\"}\n");
    assert_int_equal(conflict_count(f), 1);
    assert_counts(f, 3, 1);
}

/* Without the flag everything below svc/ is ours, but not before it was seen. */
UNIT_TEST_ON(test_every_delete_has_its_condition, struct fixture *f)
{
    CLEANUP(end_other) struct fixture other;
    synced_with_web(f, &other);
    put(&other, WEB_PORT, "{\"text\":\"mine\"}");
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "web");
    f->want = 2;
    loop_until(f->loop, has_deleted, f);
    wait_drained(f);
    assert_tree(f, KUBERNETES);
    assert_int_equal(conflict_count(f), 1);
}

/* Two puts: the second one's key changed. */
static void overwrite_what_changed(struct fixture *f, uint64_t want_conflicts)
{
    CLEANUP(end_other) struct fixture other;
    synced_with_web(f, &other);
    put(&other, WEB_PORT, "{\"text\":\"mine\"}");
    inventory_upsert(f->inventory, service_from("default", "web",
                                                "'clusterIP':'10.0.0.9','ports':["
                                                "{'name':'a','port':79,'protocol':'TCP'},"
                                                "{'name':'http','port':81,'protocol':'TCP'}]"));
    f->want = 5;
    loop_until(f->loop, has_written, f);
    wait_drained(f);
    assert_int_equal(conflict_count(f), want_conflicts);
    CLEANUP_FREE char *want =
        xasprintf(KUBERNETES WEB " " IP("10.0.0.9") "\n"
                                                    "svc/default/web/_tcp/_a/19ccb11 "
                                                    "{\"host\":\"web.default.svc.%s\","
                                                    "\"port\":79" TAIL "\n" WEB_PORT
                                                    " {\"host\":\"web.default.svc.%s\","
                                                    "\"port\":81" TAIL "\n",
                  f->domain, f->domain);
    assert_tree(f, want);
}

UNIT_TEST_ON(test_an_overwrite_has_its_condition_with_the_flag, struct fixture *f)
{
    f->own_only_written = true;
    overwrite_what_changed(f, 1);
}

UNIT_TEST(test_an_overwrite_needs_none_without_it)
{
    overwrite_what_changed(*state, 0);
}

/* The transaction of two owners fails because of a key of one: the other does not share its next
 * transaction with it. */
UNIT_TEST_ON(test_the_others_of_a_transaction_do_without_the_changed_one, struct fixture *f)
{
    CLEANUP(end_other) struct fixture other;
    synced_with_web(f, &other);
    put_service(f, "db", "10.0.0.10");
    wait_drained(f);
    put(&other, WEB_PORT, "{\"text\":\"1\"}");
    uint64_t transaction_count = reconciler_get_stats(f->reconciler).transaction_count;
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "web");
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "db");
    f->want = 3;
    loop_until(f->loop, has_deleted, f);
    wait_drained(f);
    assert_tree(f, KUBERNETES);
    assert_int_equal(conflict_count(f), 1);
    assert_int_equal(reconciler_get_stats(f->reconciler).transaction_count, transaction_count + 2);
}

/* Runs until the reconciler backs off before it restores the key. */
static void conflict_web(struct fixture *f)
{
    while (reconciler_get_stats(f->reconciler).contested == 0) {
        f->want = reconciler_get_stats(f->reconciler).keys_written + 1;
        put(f, WEB, "spoiled");
        loop_until(f->loop, has_written, f);
        wait_drained(f);
    }
    put(f, WEB, "spoiled");
    loop_until(f->loop, is_waiting, f);
    ev_run(f->loop, EVRUN_NOWAIT);
    assert_int_equal(reconciler_get_stats(f->reconciler).transactions, 0);
}

UNIT_TEST_ON(test_a_contested_service_s_change_does_not_wait, struct fixture *f)
{
    CLEANUP(end_other) struct fixture other;
    synced_with_web(f, &other);
    conflict_web(f);
    assert_true(reconciler_get_stats(f->reconciler).keys_written <= 3 + 6);
    uint64_t written = reconciler_get_stats(f->reconciler).keys_written;
    put_service_with_port(f, "web", "10.0.0.9", 81);
    ev_run(f->loop, EVRUN_NOWAIT);
    struct reconciler_stats stats = reconciler_get_stats(f->reconciler); /* etcd may have replied */
    assert_true(stats.transactions == 1 || stats.keys_written > written);
}

enum { LONG_KEYS = 150, LONG_KEY_BYTES = 10000 };

/* Each key is in the request twice, in the delete and in its condition: 3 MB in all, where etcd
 * takes 1.5 MiB. */
UNIT_TEST_ON(test_conditions_count_into_the_size_of_a_request, struct fixture *f)
{
    CLEANUP_FREE char *name = xcalloc(1, LONG_KEY_BYTES + 1);
    memset(name, 'x', LONG_KEY_BYTES);
    for (unsigned i = 0; i < LONG_KEYS; i++) {
        CLEANUP_FREE char *below = xasprintf("svc/default/%u%s", i, name);
        put(f, below, "{}");
    }
    start_reconciler(f);
    list_nothing_else(f);
    f->want = LONG_KEYS;
    loop_until(f->loop, has_deleted, f);
    wait_drained(f);
    assert_tree(f, KUBERNETES);
    assert_int_equal(reconciler_get_stats(f->reconciler).failures, 0);
}
