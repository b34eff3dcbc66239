/* reconciler: reverse keys, which several owners and other clusters may claim. */
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/reconcile/reconciler_bed.h"

static bool has_waiting(const void *data)
{
    const struct fixture *f = data;
    return reconciler_get_stats(f->reconciler).waiting == f->want;
}

static void delete_reverse_tree(struct fixture *f)
{
    sync_del_prefix(f->loop, f->etcd, "/skydns/arpa/");
}

static char *read_reverse(struct fixture *f, const char *below)
{
    CLEANUP_FREE char *key = xasprintf("/skydns/arpa/in-addr/%s", below);
    return sync_get(f->loop, f->etcd, key);
}

static void reconciler_reverse_put_reverse(struct fixture *f, const char *below, const char *host)
{
    CLEANUP_FREE char *key = xasprintf("/skydns/arpa/in-addr/%s", below);
    CLEANUP_FREE char *value = xasprintf("{\"host\":\"%s\"" TAIL, host);
    sync_put(f->loop, f->etcd, key, slice_str(value));
}

/* host NULL: no such key. "%s" in it is the domain. */
static void assert_reverse(struct fixture *f, const char *below, const char *host)
{
    CLEANUP_FREE char *value = read_reverse(f, below);
    if (!host) {
        assert_null(value);
        return;
    }
    CLEANUP_FREE char *want = xasprintf("{\"host\":\"%s.svc.%s\"" TAIL, host, f->domain);
    assert_non_null(value);
    assert_string_equal(value, want);
}

static void synced_with_reverse(struct fixture *f)
{
    f->has_reverse = true;
    delete_reverse_tree(f);
    start_reconciler(f);
    list_web(f);
    wait_synced(f);
}

UNIT_TESTS_EACH(set_up, tear_down)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(start_etcd, end_etcd)

UNIT_TEST_ON(test_reverse_keys, struct fixture *f)
{
    synced_with_reverse(f);
    assert_counts(f, 5, 0);
    assert_int_equal(reconciler_get_stats(f->reconciler).desired, 5);
    assert_reverse(f, "10/0/0/1", "kubernetes.default");
    assert_reverse(f, "10/0/0/9", "web.default");
    put_service(f, "web", "10.0.0.10");
    wait_drained(f);
    assert_counts(f, 7, 3); /* the address and its name; both old ones and the port */
    assert_reverse(f, "10/0/0/9", NULL);
    assert_reverse(f, "10/0/0/10", "web.default");
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "web");
    wait_drained(f);
    assert_reverse(f, "10/0/0/10", NULL);
    assert_int_equal(reconciler_get_stats(f->reconciler).desired, 2);
}

/* An address's name moves from one Service to the other in the transaction that deletes the first
 * one's. */
UNIT_TEST_ON(test_a_reverse_key_that_two_claim, struct fixture *f)
{
    struct tree before, after;
    synced_with_reverse(f);
    put_service(f, "also", "10.0.0.9");
    wait_drained(f);
    assert_reverse(f, "10/0/0/9", "also.default");
    read_tree(f, 0, &before);
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "also");
    wait_drained(f);
    assert_reverse(f, "10/0/0/9", "web.default");
    read_tree(f, 0, &after);
    assert_int_equal(after.revision, before.revision + 1);
    buf_fini(&before.text);
    buf_fini(&after.text);
}

/* Claimed while the transaction that gives it up is in flight: ends up with the new owner. */
UNIT_TEST_ON(test_a_reverse_key_in_flight, struct fixture *f)
{
    synced_with_reverse(f);
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "web");
    ev_run(f->loop, EVRUN_NOWAIT);
    put_service(f, "new", "10.0.0.9");
    ev_run(f->loop, EVRUN_NOWAIT);
    wait_drained(f);
    assert_reverse(f, "10/0/0/9", "new.default");
    put_service(f, "new", "10.0.0.10"); /* both at once */
    put_service(f, "web", "10.0.0.9");
    wait_drained(f);
    assert_reverse(f, "10/0/0/9", "web.default");
    assert_reverse(f, "10/0/0/10", "new.default");
    assert_int_equal(reconciler_get_stats(f->reconciler).failures, 0);
}

/* One owner yields an address to another, which gives it up before etcd answers: nobody has it. */
UNIT_TEST_ON(test_a_reverse_key_given_on_in_flight, struct fixture *f)
{
    synced_with_reverse(f);
    for (int i = 0; i < 20; i++) {
        put_service(f, "a", "10.0.0.77"); /* wins */
        put_service(f, "b", "10.0.0.77");
        inventory_remove(f->inventory, KUBE_SERVICE, "default", "a");
        ev_run(f->loop, EVRUN_NOWAIT); /* b's, in flight for the first time */
        put_service(f, "a", "10.0.0.77");
        ev_run(f->loop, EVRUN_NOWAIT);
        inventory_remove(f->inventory, KUBE_SERVICE, "default", "b");
        ev_run(f->loop, EVRUN_NOWAIT);
        inventory_remove(f->inventory, KUBE_SERVICE, "default", "a");
        wait_drained(f);
        assert_reverse(f, "10/0/0/77", NULL);
    }
}

UNIT_TEST_ON(test_reverse_keys_that_others_spoil, struct fixture *f)
{
    synced_with_reverse(f);
    f->want = 6;
    sync_del(f->loop, f->etcd, "/skydns/arpa/in-addr/10/0/0/9");
    loop_until(f->loop, has_written, f);
    wait_drained(f);
    assert_reverse(f, "10/0/0/9", "web.default");
    CLEANUP_FREE char *ours = xasprintf("lost.default.svc.%s", f->domain);
    reconciler_reverse_put_reverse(f, "10/0/0/9", ours); /* spoiled */
    f->want = 7;
    loop_until(f->loop, has_written, f);
    wait_drained(f);
    assert_reverse(f, "10/0/0/9", "web.default");
    reconciler_reverse_put_reverse(f, "10/9/9/9", ours); /* an address without an owner */
    reconciler_reverse_put_reverse(f, "rubbish", ours);
    f->want = 2;
    loop_until(f->loop, has_deleted, f);
    wait_drained(f);
    assert_reverse(f, "10/9/9/9", NULL);
    assert_reverse(f, "rubbish", NULL);
    assert_counts(f, 7, 2);
}

/* Another cluster's key stays, however often it is checked, and is claimed once given up. */
UNIT_TEST_ON(test_reverse_keys_of_another_cluster, struct fixture *f)
{
    f->has_reverse = true;
    delete_reverse_tree(f);
    reconciler_reverse_put_reverse(f, "10/0/0/9", "web.default.svc.other.");
    reconciler_reverse_put_reverse(f, "10/0/0/8", "x.default.svc.other.");
    start_reconciler(f);
    list_web(f);
    wait_synced(f);
    assert_counts(f, 4, 0);
    assert_int_equal(reconciler_get_stats(f->reconciler).others, 1);
    list_web(f);
    wait_drained(f);
    assert_counts(f, 4, 0);
    CLEANUP_FREE char *value = read_reverse(f, "10/0/0/9");
    assert_non_null(strstr(value, "svc.other."));
    sync_del(f->loop, f->etcd, "/skydns/arpa/in-addr/10/0/0/9");
    f->want = 5;
    loop_until(f->loop, has_written, f);
    wait_drained(f);
    assert_reverse(f, "10/0/0/9", "web.default");
    assert_int_equal(reconciler_get_stats(f->reconciler).others, 0);
}

/* Whoever writes nothing holds it until somebody else has deleted it. */
UNIT_TEST_ON(test_an_unclaimed_reverse_key_that_others_delete, struct fixture *f)
{
    f->is_dry = true;
    f->has_reverse = true;
    delete_reverse_tree(f);
    CLEANUP_FREE char *ours = xasprintf("lost.default.svc.%s", f->domain);
    start_reconciler(f);
    list_web(f);
    wait_synced(f);
    uint64_t waiting = reconciler_get_stats(f->reconciler).waiting;
    reconciler_reverse_put_reverse(f, "10/9/9/9", ours);
    f->want = waiting + 1;
    loop_until(f->loop, has_waiting, f);
    sync_del(f->loop, f->etcd, "/skydns/arpa/in-addr/10/9/9/9");
    f->want = waiting;
    loop_until(f->loop, has_waiting, f);
}

/* Two Services claim another cluster's key, one after the other: it is counted for the one whose it
 * would be, and no longer when that is gone. */
UNIT_TEST_ON(test_a_reverse_key_of_another_cluster_that_two_claim, struct fixture *f)
{
    delete_reverse_tree(f);
    reconciler_reverse_put_reverse(f, "10/0/0/9", "web.default.svc.other.");
    f->has_reverse = true;
    start_reconciler(f);
    list_web(f);
    wait_synced(f);
    put_service(f, "also", "10.0.0.9"); /* wins */
    wait_drained(f);
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "also");
    wait_drained(f);
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "web");
    wait_drained(f);
    assert_int_equal(reconciler_get_stats(f->reconciler).others, 0);
    assert_int_equal(reconciler_get_stats(f->reconciler).desired, 2);
}

/* Another cluster takes a key between our planning and our transaction: it stays, whether we were
 * about to write or delete it, and whatever else is in the transaction. */
UNIT_TEST_ON(test_reverse_keys_taken_by_another_cluster, struct fixture *f)
{
    CLEANUP(end_other) struct fixture other;
    start_other(f, &other);
    synced_with_reverse(f);
    reconciler_reverse_put_reverse(&other, "10/0/0/10", "x.default.svc.other.");
    put_service(f, "web", "10.0.0.10");
    wait_drained(f);
    f->want = 1;
    loop_until(f->loop, has_external, f);
    char *value = read_reverse(f, "10/0/0/10");
    assert_non_null(strstr(value, "svc.other."));
    free(value);
    assert_reverse(f, "10/0/0/9", NULL);
    reconciler_reverse_put_reverse(&other, "10/0/0/1", "x.default.svc.other.");
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "kubernetes");
    wait_drained(f);
    value = read_reverse(f, "10/0/0/1");
    assert_non_null(strstr(value, "svc.other."));
    free(value);
    assert_int_equal(reconciler_get_stats(f->reconciler).failures, 0);
}

UNIT_TEST_ON(test_a_restart_with_reverse_keys, struct fixture *f)
{
    synced_with_reverse(f);
    CLEANUP_FREE char *ours = xasprintf("lost.default.svc.%s", f->domain);
    reconciler_stop(f->reconciler);
    reconciler_reverse_put_reverse(f, "10/9/9/9", ours);
    start_inventory(f);
    start_reconciler(f);
    list_web(f);
    wait_synced(f);
    wait_drained(f);
    assert_counts(f, 0, 1);
    assert_reverse(f, "10/9/9/9", NULL);
    reconciler_stop(f->reconciler);
    f->has_reverse = false; /* keys no longer written are deleted */
    start_inventory(f);
    start_reconciler(f);
    list_web(f);
    wait_synced(f);
    wait_drained(f);
    assert_counts(f, 0, 2);
    assert_reverse(f, "10/0/0/9", NULL);
}

/* They name db, of whose slices one is garbled: nothing about db's names is changed or deleted but
 * for a cluster IP, which cannot be db's, and nobody else waits. */
UNIT_TEST_ON(test_doubt_about_reverse_keys, struct fixture *f)
{
    CLEANUP_FREE char *db = xasprintf("db-0.db.default.svc.%s", f->domain);
    CLEANUP_FREE char *lost = xasprintf("lost.default.svc.%s", f->domain);
    f->has_reverse = true;
    reconciler_reverse_put_reverse(f, "10/0/0/8", db);
    reconciler_reverse_put_reverse(f, "10/0/0/9", db);
    reconciler_reverse_put_reverse(f, "10/9/9/9", lost);
    inventory_use_endpoints(f->inventory, KUBE_SLICE);
    start_reconciler(f);
    list_web(f);
    inventory_upsert(f->inventory, service_from("default", "db", "'clusterIP':'None'"));
    inventory_upsert(f->inventory, garbled_from(KUBE_SLICE, "default", "db-1", "db"));
    inventory_list_end(f->inventory, KUBE_SLICE);
    wait_synced(f); /* readiness does not wait for it */
    wait_drained(f);
    assert_counts(f, 5, 1);
    assert_reverse(f, "10/9/9/9", NULL);
    assert_reverse(f, "10/0/0/8", "db-0.db.default");
    assert_reverse(f, "10/0/0/9", "web.default");

    inventory_remove(f->inventory, KUBE_SLICE, "default", "db-1");
    wait_drained(f);
    assert_reverse(f, "10/0/0/8", NULL);
    assert_reverse(f, "10/0/0/9", "web.default");
    assert_counts(f, 5, 2);
}
