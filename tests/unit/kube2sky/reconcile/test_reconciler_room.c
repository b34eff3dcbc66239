/* The reconciler with a namespace that wants more keys than it may have: its new ones wait, in an
 * order that a restart does not change; others do not notice. */
#include "tests/support/unit_test.h"
#include "tests/unit/kube2sky/reconcile/reconciler_bed.h"

static void remove_db(struct fixture *f, const char *name)
{
    inventory_remove(f->inventory, KUBE_SERVICE, "busy", name);
    inventory_remove(f->inventory, KUBE_ENDPOINTS, "busy", name);
}

static void put_quiet(struct fixture *f, const char *ip)
{
    CLEANUP_FREE char *spec = xasprintf("'clusterIP':'%s'", ip);
    inventory_upsert(f->inventory, service_from("quiet", "web", spec));
}

/* How many keys etcd has with this in key or value. */
static size_t keys_with(struct fixture *f, const char *text)
{
    struct tree tree;
    size_t count = 0;
    read_tree(f, 0, &tree);
    for (const char *at = strstr(buf_cstr(&tree.text), text); at; at = strstr(at + 1, text)) {
        count++;
    }
    buf_fini(&tree.text);
    return count;
}

static bool are_as_many_lacking(const void *data)
{
    const struct fixture *f = data;
    struct reconciler_stats stats = reconciler_get_stats(f->reconciler);
    return stats.lacking == f->want && stats.transactions == 0;
}

static void wait_lacking(struct fixture *f, size_t count)
{
    f->want = count;
    loop_until(f->loop, are_as_many_lacking, f);
    wait_drained(f);
}

static void assert_trouble(struct fixture *f, const char *want)
{
    CLEANUP_BUF struct buf text = buf_of(1024);
    assert_int_equal(reconciler_explain_trouble(f->reconciler, &text), *want != '\0');
    assert_string_equal(buf_cstr(&text), want);
}

enum { LIMIT = 10 };

static void start_limited(struct fixture *f)
{
    f->ns_keys_max = LIMIT;
    start_reconciler(f);
    list_nothing_else(f);
    wait_synced(f);
}

UNIT_TESTS_EACH(set_up, tear_down)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(start_etcd, end_etcd)

UNIT_TEST_ON(test_new_keys_of_a_full_namespace_wait, struct fixture *f)
{
    start_limited(f);
    put_large_service(f, "a", 1, 6);
    wait_drained(f);
    assert_trouble(f, "");
    put_large_service(f, "b", 2, 6);
    put_quiet(f, "10.0.0.9");
    wait_lacking(f, 1);
    assert_int_equal(keys_with(f, "svc/busy/a/"), 6);
    assert_int_equal(keys_with(f, "svc/busy/b/"), 4);
    assert_int_equal(keys_with(f, "svc/quiet/web/"), 1);
    assert_int_equal(reconciler_get_stats(f->reconciler).full, 1);
    assert_trouble(f,
                   "1 namespaces have as many keys as they may: new keys of 1 services wait, such "
                   "as of svc/busy/b");
    put_quiet(f, "10.0.0.10"); /* another namespace's change does not wait */
    wait_drained(f);
    assert_int_equal(keys_with(f, "10.0.0.10"), 1);

    remove_db(f, "a");
    wait_lacking(f, 0);
    assert_int_equal(keys_with(f, "svc/busy/a/"), 0);
    assert_int_equal(keys_with(f, "svc/busy/b/"), 6);
    assert_trouble(f, "");
}

/* A replaced key needs no further room. */
UNIT_TEST_ON(test_a_full_namespace_still_changes, struct fixture *f)
{
    start_limited(f);
    put_large_service(f, "a", 1, LIMIT);
    put_large_service(f, "b", 2, 6);
    wait_lacking(f, 1);
    put_large_service(f, "a", 3, LIMIT);
    wait_lacking(f, 1);
    assert_int_equal(keys_with(f, "\"10.3."), LIMIT);
    assert_int_equal(keys_with(f, "\"10.1."), 0);
    assert_int_equal(keys_with(f, "svc/busy/b/"), 0);
    put_large_service(f, "a", 3, 7); /* deletes go, and the room is given on */
    f->want = 1 + LIMIT + LIMIT + 3;
    loop_until(f->loop, has_written, f);
    wait_drained(f);
    assert_int_equal(keys_with(f, "svc/busy/a/"), 7);
    assert_int_equal(keys_with(f, "svc/busy/b/"), 3);
}

UNIT_TEST_ON(test_a_restart_changes_nothing, struct fixture *f)
{
    struct tree before, after;
    start_limited(f);
    put_large_service(f, "b", 2, 6);
    wait_drained(f);
    put_large_service(f, "c", 3, 6);
    put_large_service(f, "a", 1, 6);
    wait_lacking(f, 2);
    read_tree(f, 0, &before);
    reconciler_stop(f->reconciler);
    f->reconciler = NULL;
    start_inventory(f);
    start_reconciler(f);
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    put_service(f, "kubernetes", "10.0.0.1");
    put_large_service(f, "a", 1, 6);
    put_large_service(f, "b", 2, 6);
    put_large_service(f, "c", 3, 6);
    inventory_list_end(f->inventory, KUBE_SERVICE);
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
    wait_synced(f);
    wait_lacking(f, 2);
    read_tree(f, 0, &after);
    assert_string_equal(buf_cstr(&before.text), buf_cstr(&after.text));
    assert_counts(f, 0, 0);
    buf_fini(&before.text);
    buf_fini(&after.text);
}

/* Whoever came first: room goes to the first by name of those that wait. */
UNIT_TEST_ON(test_the_first_by_name_comes_next, struct fixture *f)
{
    static const char *const names[] = {"e", "c", "f", "b", "g", "d"};
    start_limited(f);
    put_large_service(f, "a", 1, LIMIT);
    wait_drained(f);
    for (int i = 0; i < 6; i++) {
        put_large_service(f, names[i], 10 + i, 2);
    }
    wait_lacking(f, 6);
    put_large_service(f, "a", 1, LIMIT - 4);
    wait_lacking(f, 4);
    assert_int_equal(keys_with(f, "svc/busy/b/"), 2);
    assert_int_equal(keys_with(f, "svc/busy/c/"), 2);
    remove_db(f, "d"); /* it waits no longer */
    put_large_service(f, "a", 1, LIMIT - 8);
    wait_lacking(f, 1);
    assert_int_equal(keys_with(f, "svc/busy/e/"), 2);
    assert_int_equal(keys_with(f, "svc/busy/f/"), 2);
    assert_int_equal(keys_with(f, "svc/busy/g/"), 0);
    for (int i = 0; i < 6; i++) {
        remove_db(f, names[i]);
    }
    wait_lacking(f, 0);
    assert_int_equal(keys_with(f, "svc/busy/"), LIMIT - 8);
}

enum { SPACE_BYTES = 1000 * 1000 };

/* Without a limit on keys: a tenth of etcd's space, about 250 bytes for each. */
UNIT_TEST_ON(test_a_namespace_has_a_share_of_bytes, struct fixture *f)
{
    f->etcd_space_bytes = SPACE_BYTES;
    start_reconciler(f);
    list_nothing_else(f);
    wait_synced(f);
    for (int i = 0; i < 8; i++) {
        CLEANUP_FREE char *name = xasprintf("db-%d", i);
        put_large_service(f, name, 10 + i, 100);
    }
    put_quiet(f, "10.0.0.9");
    wait_drained(f);
    size_t written = keys_with(f, "svc/busy/");
    assert_in_range(written, SPACE_BYTES / 10 / 300, SPACE_BYTES / 10 / 150);
    assert_int_equal(keys_with(f, "svc/quiet/web/"), 1);
    assert_int_equal(reconciler_get_stats(f->reconciler).full, 1);
}

/* A third of the share is for one Service: beyond it, its keys, too, are unchanged. */
UNIT_TEST_ON(test_a_service_has_a_share_of_bytes, struct fixture *f)
{
    f->etcd_space_bytes = SPACE_BYTES;
    start_reconciler(f);
    list_nothing_else(f);
    wait_synced(f);
    put_large_service(f, "db", 1, 2);
    wait_drained(f);
    put_large_service(f, "db", 1, 400);
    wait_drained(f);
    assert_int_equal(keys_with(f, "svc/busy/db/"), 2);
    assert_int_equal(reconciler_get_stats(f->reconciler).too_large, 1);
    assert_trouble(f, "1 services have more than 100000 records or 33333 bytes of them, such as "
                      "svc/busy/db; their keys are unchanged");
}

UNIT_TEST_ON(test_a_limit_on_the_records_of_a_service, struct fixture *f)
{
    f->owner_keys_max = 3;
    start_reconciler(f);
    list_nothing_else(f);
    wait_synced(f);
    put_large_service(f, "db", 1, 3);
    wait_drained(f);
    put_large_service(f, "db", 1, 4);
    wait_drained(f);
    assert_int_equal(keys_with(f, "svc/busy/db/"), 3);
    assert_trouble(f, "1 services have more than 3 records, such as svc/busy/db; their keys are "
                      "unchanged");
    put_large_service(f, "db", 1, 2);
    wait_drained(f);
    assert_int_equal(keys_with(f, "svc/busy/db/"), 2);
    assert_trouble(f, "");
}
