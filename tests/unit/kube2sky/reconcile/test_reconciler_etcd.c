/* reconciler: an etcd that is killed, rejects writes, or comes back empty, and the key that tells
 * stores apart. */
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/reconcile/reconciler_bed.h"

/* Written keys may have landed before the watch is confirmed. */
static bool is_back(const void *data)
{
    return !outage_is_away(&((const struct fixture *)data)->outage);
}

UNIT_TESTS_EACH(set_up, tear_down)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(start_etcd, end_etcd)

UNIT_TEST_ON(test_etcd_killed_and_restarted, struct fixture *f)
{
    synced_with_kubernetes(f);
    etcd_proc_kill(proc);
    put_service(f, "web", "10.0.0.9");
    f->want = 1;
    loop_until(f->loop, has_failed, f);
    assert_true(outage_is_away(&f->outage));
    inventory_upsert(f->inventory, service_from("default", "db", "'clusterIP':'10.0.0.10'"));
    etcd_proc_restart(proc);
    f->want = 3;
    loop_until(f->loop, has_written, f);
    wait_drained(f);
    assert_tree(f, "svc/default/db/21172049 " IP(
                       "10.0.0.10") "\n" KUBERNETES "svc/default/web/19ccb11 " IP("10.0.0.9") "\n");
    loop_until(f->loop, is_back, f);
    assert_int_equal(reconciler_followed(f->reconciler)->returns[OUTAGE_UNAVAILABLE], 1);
    assert_int_equal(reconciler_get_stats(f->reconciler).actual, 3);
}

/* Seven keys where etcd accepts four operations: no write of this owner ever succeeds. */
static void put_poison(struct fixture *f)
{
    CLEANUP_BUF struct buf spec = buf_of(4096);
    buf_append_str(&spec, "'clusterIP':'10.0.0.10','ports':[");
    for (int i = 1; i <= 6; i++) {
        buf_printf(&spec, "%s{'name':'p%d','port':%d,'protocol':'TCP'}", i > 1 ? "," : "", i, i);
    }
    buf_append_char(&spec, ']');
    inventory_upsert(f->inventory, service_from("default", "poison", buf_cstr(&spec)));
}

static bool has_no_transaction(const void *data)
{
    const struct fixture *f = data;
    struct reconciler_stats stats = reconciler_get_stats(f->reconciler);
    return stats.failures > 1 && stats.transactions == 0 && stats.waiting == 1;
}

UNIT_TEST_ON(test_a_change_that_etcd_refuses_holds_up_no_other, struct fixture *f)
{
    etcd_proc_terminate(proc);
    assert_int_equal(setenv("ETCD_MAX_TXN_OPS", "4", 1), 0);
    etcd_proc_restart(proc);
    synced_with_kubernetes(f);
    put_poison(f);
    put_service(f, "web", "10.0.0.9");
    f->want = 2;
    loop_until(f->loop, has_written, f);
    assert_tree(f, KUBERNETES "svc/default/web/19ccb11 " IP("10.0.0.9") "\n");
    /* It waits by itself: what others change is sent at once, not after a common delay. */
    loop_until(f->loop, has_no_transaction, f);
    put_service(f, "web", "10.0.0.26");
    ev_run(f->loop, EVRUN_NOWAIT);
    struct reconciler_stats stats = reconciler_get_stats(f->reconciler); /* etcd may have replied */
    assert_true(stats.transactions == 1 || stats.keys_written == 3);
    f->want = 3;
    loop_until(f->loop, has_written, f);
    for (f->want = 4; f->want < 6; f->want++) { /* and so on */
        put_service(f, "web", f->want % 2 ? "10.0.0.26" : "10.0.0.9");
        loop_until(f->loop, has_written, f);
    }
    /* It counts as refused while it is tried again, too. */
    const uint64_t failures = reconciler_get_stats(f->reconciler).failures;
    for (; stats.failures < failures + 2; stats = reconciler_get_stats(f->reconciler)) {
        ev_run(f->loop, EVRUN_ONCE);
        assert_int_equal(reconciler_get_stats(f->reconciler).refused, 1);
    }

    etcd_proc_terminate(proc);
    assert_int_equal(unsetenv("ETCD_MAX_TXN_OPS"), 0);
    etcd_proc_restart(proc);
    f->want = 5 + 7;
    loop_until(f->loop, has_written, f);
    wait_drained(f);
    struct tree tree;
    read_tree(f, 0, &tree);
    assert_int_equal(tree.count, 9);
    buf_fini(&tree.text);

    uint64_t transaction_count = reconciler_get_stats(f->reconciler).transaction_count;
    put_service(f, "poison", "10.0.0.1"); /* in one transaction again */
    put_service(f, "web", "10.0.0.1");
    wait_drained(f);
    assert_int_equal(reconciler_get_stats(f->reconciler).transaction_count, transaction_count + 1);
}

struct store_key {
    char value[64]; /* "" = none */
    int64_t create_revision;
    int64_t version;
    bool is_read;
};

static void on_store_key(void *data, const struct etcd_range_reply *reply, const struct err *err)
{
    struct store_key *key = data;
    assert_null(err);
    key->is_read = true;
    if (reply->count) {
        const struct etcd_kv *kv = &reply->kvs[0];
        (void)snprintf(key->value, sizeof(key->value), "%.*s", (int)kv->value.len, kv->value.ptr);
        key->create_revision = kv->create_revision;
        key->version = kv->version;
    }
}

static bool is_store_key_read(const void *data)
{
    return ((const struct store_key *)data)->is_read;
}

static struct store_key read_store_key(struct fixture *f)
{
    struct store_key key = {.is_read = false};
    CLEANUP_FREE char *name =
        xasprintf("/kube2sky/%.*s/store", (int)strlen(f->domain) - 1, f->domain);
    const struct etcd_range range = {.key = slice_str(name)};
    etcd_range(f->etcd, &range, on_store_key, &key);
    loop_until(f->loop, is_store_key_read, &key);
    return key;
}

/* After everything else, in its own revision, and only once. */
UNIT_TEST_ON(test_store_gets_its_key, struct fixture *f)
{
    struct tree tree;
    start_reconciler(f);
    put_service(f, "web", "10.0.0.9");
    f->want = 1;
    loop_until(f->loop, has_written, f);
    assert_string_equal(read_store_key(f).value, ""); /* not everything is listed */
    list_nothing_else(f);
    wait_synced(f);
    struct store_key key = read_store_key(f);
    assert_int_equal(strlen(key.value), 32);
    read_tree(f, 0, &tree);
    assert_true(key.create_revision > tree.last_modified);
    buf_fini(&tree.text);

    reconciler_stop(f->reconciler);
    start_reconciler(f);
    list_nothing_else(f);
    wait_synced(f);
    put_service(f, "more", "10.0.0.8");
    wait_drained(f);
    struct store_key again = read_store_key(f);
    assert_string_equal(again.value, key.value);
    assert_int_equal(again.version, 1);
}

/* The old etcd's content is not assumed of the new one, which has the same flags and port. */
UNIT_TEST_ON(test_etcd_wiped_and_restarted, struct fixture *f)
{
    struct tree tree;
    synced_with_kubernetes(f);
    put_service(f, "web", "10.0.0.9");
    wait_drained(f);
    struct store_key old = read_store_key(f);
    etcd_proc_kill(proc);
    etcd_proc_wipe(proc);
    etcd_proc_restart(proc);
    f->want = 4;
    loop_until(f->loop, has_written, f);
    wait_synced(f);
    assert_tree(f, KUBERNETES "svc/default/web/19ccb11 " IP("10.0.0.9") "\n");
    struct store_key new = read_store_key(f);
    assert_int_equal(strlen(new.value), 32);
    assert_string_not_equal(new.value, old.value);
    read_tree(f, 0, &tree);
    assert_true(new.create_revision > tree.last_modified);
    buf_fini(&tree.text);
    assert_int_equal(reconciler_get_stats(f->reconciler).mirror.reads[ETCD_MIRROR_OTHER_STORE], 1);
}
