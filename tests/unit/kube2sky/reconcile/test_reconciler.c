/* reconciler, with a real etcd: what it writes, what it leaves alone, what it waits for. */
#include "tests/unit/kube2sky/reconcile/reconciler_bed.h"

#include <malloc.h>

#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_EACH(set_up, tear_down)
UNIT_TESTS_NEED(etcd_proc_missing)
UNIT_TESTS_ONCE(start_etcd, end_etcd)

UNIT_TEST_ON(test_writes_what_is_missing_and_removes_orphans, struct fixture *f)
{
    put(f, "svc/default/gone/abc", "{}");
    put(f, "svc/loose", "{}");
    put(f, "svc//x//y/", "{}");
    put(f, "svc/default/web/19ccb11", IP("10.0.0.9")); /* already right */
    put(f, "pod/default/10-0-0-1/c88f1059", "{}");
    put(f, "svc", "{}"); /* this and the next three are foreign */
    put(f, "svcx/default/web", "{}");
    put(f, "dns/ns/a", "{}");
    put(f, "x", "{}");
    start_reconciler(f);
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "kubernetes", "10.0.0.1");
    put_service_with_port(f, "web", "10.0.0.9", 80);
    inventory_list_end(f->inventory, KUBE_SERVICE);
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
    wait_synced(f);
    CLEANUP_FREE char *want =
        xasprintf("dns/ns/a {}\n"
                  "svc {}\n" KUBERNETES "svc/default/web/19ccb11 " IP(
                      "10.0.0.9") "\nsvc/default/web/_tcp/_http/19ccb11 "
                                  "{\"host\":\"web.default.svc.%s\",\"port\":80" TAIL "\n"
                                  "svcx/default/web {}\n"
                                  "x {}\n",
                  f->domain);
    assert_tree(f, want);
    assert_counts(f, 2, 4);
    assert_int_equal(reconciler_get_stats(f->reconciler).desired, 3);
}

/* Without the tree before its keys. */
static void assert_preview(struct fixture *f, const char *owner, const char *want)
{
    CLEANUP_FREE char *full = xasprintf("? %s%s", f->tree, want + strlen("? "));
    CLEANUP_BUF struct buf out = buf_of(1 << 20);
    reconciler_preview(f->reconciler, slice_str(owner), &out);
    assert_string_equal(buf_cstr(&out), full);
}

UNIT_TEST_ON(test_deletes_nothing_before_everything_is_listed, struct fixture *f)
{
    put(f, "svc/default/gone/abc", "{}");
    put(f, "svc/default/moved/19ccb11", IP("10.0.0.9"));
    start_reconciler(f);
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "moved", "10.0.0.10");
    put_service(f, "kubernetes", "10.0.0.1");
    f->want = 2;
    loop_until(f->loop, has_written, f);
    wait_drained(f);
    assert_false(reconciler_has_synced(f->reconciler));
    assert_counts(f, 2, 0); /* additions do not wait for deletes */
    assert_tree(f, "svc/default/gone/abc {}\n" KUBERNETES "svc/default/moved/19ccb11 " IP(
                       "10.0.0.9") "\n"
                                   "svc/default/moved/21172049 " IP("10.0.0.10") "\n");
    assert_preview(f, "svc/default/moved", "? svc/default/moved/19ccb11\n");
    assert_preview(f, "svc/default/gone", "? svc/default/gone/abc\n");
    inventory_list_end(f->inventory, KUBE_SERVICE);
    f->want = 2; /* endpoints do not affect these */
    loop_until(f->loop, has_deleted, f);
    wait_drained(f);
    assert_tree(f, KUBERNETES "svc/default/moved/21172049 " IP("10.0.0.10") "\n");
    assert_counts(f, 2, 2);
    assert_false(reconciler_has_synced(f->reconciler));
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
    wait_synced(f);
    assert_counts(f, 2, 2);
}

UNIT_TEST_ON(test_restart_writes_nothing, struct fixture *f)
{
    struct tree before, after;
    start_reconciler(f);
    list_web(f);
    wait_synced(f);
    assert_counts(f, 3, 0);
    read_tree(f, 0, &before);
    reconciler_stop(f->reconciler);
    start_reconciler(f);
    list_web(f);
    wait_synced(f);
    assert_counts(f, 0, 0);
    assert_int_equal(reconciler_get_stats(f->reconciler).transaction_count, 0);
    assert_int_equal(reconciler_get_stats(f->reconciler).desired, 3);
    list_web(f); /* as after a 410 */
    wait_drained(f);
    assert_counts(f, 0, 0);
    read_tree(f, 0, &after);
    assert_string_equal(buf_cstr(&before.text), buf_cstr(&after.text));
    buf_fini(&before.text);
    buf_fini(&after.text);
}

UNIT_TEST_ON(test_what_others_do_is_undone, struct fixture *f)
{
    synced_with_kubernetes(f);
    assert_counts(f, 1, 0);
    del(f, "svc/default/kubernetes/c88f1059");
    f->want = 2;
    loop_until(f->loop, has_written, f);
    put(f, "svc/default/kubernetes/c88f1059", "spoiled");
    f->want = 3;
    loop_until(f->loop, has_written, f);
    put(f, "svc/default/kubernetes/foreign", "{}");
    f->want = 1;
    loop_until(f->loop, has_deleted, f);
    put(f, "svc/foreign", "{}");
    f->want = 2;
    loop_until(f->loop, has_deleted, f);
    wait_drained(f);
    assert_tree(f, KUBERNETES);
    assert_counts(f, 3, 2);
}

UNIT_TEST_ON(test_a_change_is_one_transaction, struct fixture *f)
{
    struct tree now, before;
    start_reconciler(f);
    list_web(f);
    wait_synced(f);
    read_tree(f, 0, &before);
    put_service_with_port(f, "web", "10.0.0.10", 81);
    wait_drained(f);
    read_tree(f, 0, &now);
    assert_int_equal(now.count, 3);
    assert_non_null(strstr(buf_cstr(&now.text), "svc/default/web/21172049 "));
    assert_null(strstr(buf_cstr(&now.text), "19ccb11"));
    assert_int_equal(now.last_modified, before.revision + 1);
    buf_fini(&now.text);
    buf_fini(&before.text);
}

/* Addresses 10.<net>.0.0 and up. */
static void put_endpoints_of(struct fixture *f, const char *name, int net, int count)
{
    CLEANUP_BUF struct buf subset = buf_of(1 << 22);
    buf_append_str(&subset, "{'addresses':[");
    for (int i = 0; i < count; i++) {
        buf_printf(&subset, "%s{'ip':'10.%d.%d.%d'}", i ? "," : "", net + i / 65536, i / 256 % 256,
                   i % 256);
    }
    buf_append_str(&subset, "]}");
    inventory_upsert(f->inventory, endpoints_from("default", name, buf_cstr(&subset)));
}

static void reconciler_put_endpoints(struct fixture *f, int net, int count)
{
    put_endpoints_of(f, "db", net, count);
}

/* Several at once, so that each has a transaction of its own. */
enum { LARGE_SERVICES = 6, LARGE_ENDPOINTS = 4000 };

static void change_large_services(struct fixture *f, int count, bool exist)
{
    for (int i = 0; i < count; i++) {
        CLEANUP_FREE char *name = xasprintf("large-%d", i);
        if (exist) {
            put_endpoints_of(f, name, 10 + i, LARGE_ENDPOINTS);
            inventory_upsert(f->inventory, service_from("default", name, "'clusterIP':'None'"));
        } else {
            inventory_remove(f->inventory, KUBE_SERVICE, "default", name);
            inventory_remove(f->inventory, KUBE_ENDPOINTS, "default", name);
        }
    }
    wait_drained(f);
}

/* Memory that each Service needed on the way is freed, so that six leave no more behind than
 * one. */
UNIT_TEST_ON(test_large_services_leave_no_memory_behind, struct fixture *f)
{
    synced_with_kubernetes(f);
    change_large_services(f, 1, true);
    change_large_services(f, 1, false);
    size_t before = mallinfo2().uordblks;
    change_large_services(f, LARGE_SERVICES, true);
    change_large_services(f, LARGE_SERVICES, false);
    size_t after = mallinfo2().uordblks; /* 0 with a sanitizer's allocator */
    print_message("bytes kept: %zu\n", after > before ? after - before : 0);
    assert_true(after <= before + 512 * 1024);
}

UNIT_TEST_ON(test_a_change_larger_than_a_transaction_adds_first, struct fixture *f)
{
    struct tree tree;
    synced_with_kubernetes(f);
    reconciler_put_endpoints(f, 1, 300);
    inventory_upsert(f->inventory, service_from("default", "db", "'clusterIP':'None'"));
    wait_drained(f);
    read_tree(f, 0, &tree);
    assert_int_equal(tree.count, 301);
    int64_t before = tree.last_modified;
    buf_fini(&tree.text);
    reconciler_put_endpoints(f, 2, 300);
    wait_drained(f);
    assert_counts(f, 601, 300);
    read_tree(f, 0, &tree);
    assert_int_equal(tree.count, 301);
    assert_null(strstr(buf_cstr(&tree.text), "\"10.1."));
    int64_t after = tree.revision;
    buf_fini(&tree.text);
    assert_in_range(after - before, 5, 6); /* 600 operations */
    for (int64_t revision = before; revision <= after; revision++) {
        read_tree(f, revision, &tree);
        assert_in_range(tree.count, 301, 601);
        buf_fini(&tree.text);
    }
}

static uint64_t changes_observed(const struct fixture *f)
{
    const struct histogram *times = reconciler_get_stats(f->reconciler).change_time;
    uint64_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(times->buckets); i++) {
        count += counter_get(&times->buckets[i]);
    }
    return count;
}

/* The change of an object is observed once, however many transactions it takes. */
UNIT_TEST_ON(test_a_change_of_several_transactions_is_one_change, struct fixture *f)
{
    synced_with_kubernetes(f);
    uint64_t before = changes_observed(f);
    uint64_t transaction_count = reconciler_get_stats(f->reconciler).transaction_count;
    reconciler_put_endpoints(f, 1, 600);
    inventory_upsert(f->inventory, service_from("default", "db", "'clusterIP':'None'"));
    wait_drained(f);
    assert_int_equal(reconciler_get_stats(f->reconciler).transaction_count, transaction_count + 5);
    assert_int_equal(changes_observed(f), before + 1);
}

/* One address more than an owner may have: its keys stay as they are, and it is told. */
UNIT_TEST_ON(test_a_service_with_too_many_records, struct fixture *f)
{
    CLEANUP_BUF struct buf text = buf_of(1024);
    synced_with_kubernetes(f);
    reconciler_put_endpoints(f, 1, 2);
    inventory_upsert(f->inventory, service_from("default", "db", "'clusterIP':'None'"));
    wait_drained(f);
    assert_int_equal(reconciler_get_stats(f->reconciler).actual, 3);
    assert_false(reconciler_explain_trouble(f->reconciler, &text));
    reconciler_put_endpoints(f, 1, DESIRED_MAX + 1);
    wait_drained(f);
    assert_int_equal(reconciler_get_stats(f->reconciler).actual, 3);
    assert_int_equal(reconciler_get_stats(f->reconciler).too_large, 1);
    assert_true(reconciler_explain_trouble(f->reconciler, &text));
    assert_string_equal(buf_cstr(&text), "1 services have more than 100000 records, such as "
                                         "svc/default/db; their keys are unchanged");
    reconciler_put_endpoints(f, 1, 1);
    wait_drained(f);
    assert_int_equal(reconciler_get_stats(f->reconciler).actual, 2);
    assert_int_equal(reconciler_get_stats(f->reconciler).too_large, 0);
    buf_clear(&text);
    assert_false(reconciler_explain_trouble(f->reconciler, &text));
}

UNIT_TEST_ON(test_a_large_change_overtaken_by_a_small_one_is_given_up, struct fixture *f)
{
    synced_with_kubernetes(f);
    etcd_proc_pause(proc); /* so that the second change precedes the reply to the first part */
    reconciler_put_endpoints(f, 1, 300);
    inventory_upsert(f->inventory, service_from("default", "db", "'clusterIP':'None'"));
    ev_run(f->loop, EVRUN_NOWAIT); /* the first part is sent */
    reconciler_put_endpoints(f, 2, 1);
    etcd_proc_resume(proc);
    wait_drained(f);
    assert_counts(f, 1 + ETCD_TXN_OPS_MAX + 1, ETCD_TXN_OPS_MAX);
}

UNIT_TEST_ON(test_an_object_that_changes_while_its_transaction_is_away, struct fixture *f)
{
    synced_with_kubernetes(f);
    put_service(f, "web", "10.0.0.9");
    ev_run(f->loop, EVRUN_NOWAIT); /* sent, no reply yet */
    put_service(f, "web", "10.0.0.10");
    ev_run(f->loop, EVRUN_NOWAIT);
    put_service(f, "web", "10.0.0.26");
    wait_drained(f);
    assert_tree(f, KUBERNETES "svc/default/web/734242 " IP("10.0.0.26") "\n");
}

UNIT_TEST_ON(test_an_object_that_goes_while_its_transaction_is_away, struct fixture *f)
{
    synced_with_kubernetes(f);
    put_service(f, "web", "10.0.0.9");
    ev_run(f->loop, EVRUN_NOWAIT);
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "web");
    wait_drained(f);
    assert_tree(f, KUBERNETES);
    assert_int_equal(reconciler_get_stats(f->reconciler).desired, 1);
}

/* Another writer deletes the key, then writes a foreign one. Our own delete, planned before we
 * learn of that (only the other's loop runs meanwhile), is not executed since its condition fails,
 * and the reply has a revision that our mirror never sees. */
UNIT_TEST_ON(test_deletes_of_what_is_gone_already, struct fixture *f)
{
    CLEANUP(end_other) struct fixture other;
    start_other(f, &other);
    synced_with_kubernetes(f);
    put_service(f, "web", "10.0.0.9");
    wait_drained(f);
    del(&other, "svc/default/web/19ccb11");
    put(&other, "x", "{}");
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "web");
    wait_drained(f);
    assert_counts(f, 2, 0);
    put_service(f, "web", "10.0.0.9");
    wait_drained(f);
    assert_tree(f, KUBERNETES "svc/default/web/19ccb11 " IP("10.0.0.9") "\nx {}\n");
}

/* One before our transaction, one after it; we learn of both while it is in flight. */
UNIT_TEST_ON(test_keys_that_others_add_while_a_transaction_is_away, struct fixture *f)
{
    CLEANUP(end_other) struct fixture other;
    start_other(f, &other);
    synced_with_kubernetes(f);
    put(&other, "svc/default/web/before", "{}");
    put_service(f, "web", "10.0.0.9");
    ev_run(f->loop, EVRUN_NOWAIT);
    put(&other, "svc/default/web/behind", "{}");
    f->want = 2;
    loop_until(f->loop, has_deleted, f);
    wait_drained(f);
    assert_tree(f, KUBERNETES "svc/default/web/19ccb11 " IP("10.0.0.9") "\n");
    assert_counts(f, 2, 2);
}

UNIT_TEST_ON(test_what_others_did_before_the_history_was_dropped, struct fixture *f)
{
    CLEANUP(end_other) struct fixture other;
    start_other(f, &other);
    start_reconciler(f);
    list_web(f);
    wait_synced(f);
    etcd_proc_terminate(proc);
    etcd_proc_restart(proc);
    del(&other, "svc/default/kubernetes/c88f1059");
    put(&other, "svc/default/web/19ccb11", "spoiled");
    etcd_proc_compact(proc, put(&other, "svc/default/web/foreign", "{}"));
    f->want = 5;
    loop_until(f->loop, has_written, f);
    f->want = 1;
    loop_until(f->loop, has_deleted, f);
    wait_drained(f);
    assert_counts(f, 5, 1);
    struct tree tree;
    read_tree(f, 0, &tree);
    assert_int_equal(tree.count, 3);
    assert_non_null(strstr(buf_cstr(&tree.text), KUBERNETES));
    assert_non_null(strstr(buf_cstr(&tree.text), "svc/default/web/19ccb11 " IP("10.0.0.9") "\n"));
    buf_fini(&tree.text);
}

/* Readiness does not wait for it. */
UNIT_TEST_ON(test_an_object_not_understood_keeps_its_keys, struct fixture *f)
{
    put(f, "svc/default/odd/19ccb11", IP("10.0.0.9"));
    start_reconciler(f);
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "kubernetes", "10.0.0.1");
    inventory_upsert(f->inventory, garbled_from(KUBE_SERVICE, "default", "odd", ""));
    inventory_list_end(f->inventory, KUBE_SERVICE);
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
    wait_synced(f);
    assert_tree(f, KUBERNETES "svc/default/odd/19ccb11 " IP("10.0.0.9") "\n");
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "odd");
    wait_drained(f);
    assert_tree(f, KUBERNETES);
}

UNIT_TEST_ON(test_a_dry_run_writes_nothing, struct fixture *f)
{
    put(f, "svc/default/gone/abc", "{}");
    f->is_dry = true;
    start_reconciler(f);
    list_web(f);
    wait_synced(f);
    assert_tree(f, "svc/default/gone/abc {}\n");
    assert_int_equal(reconciler_get_stats(f->reconciler).transaction_count, 0);
    assert_int_equal(reconciler_get_stats(f->reconciler).waiting, 3);
    assert_int_equal(f->planned, 4);
}

/* The follower is ready, writes nothing, and has nothing left to do once it has seen the leader's
 * writes; when the leader stops, it takes over. */
UNIT_TEST_ON(test_two_writers, struct fixture *f)
{
    struct fixture other;
    f->lease_s = 600; /* no slow machine loses the lead */
    start_reconciler(f);
    list_web(f);
    wait_synced(f);
    assert_counts(f, 3, 0);
    assert_true(reconciler_get_stats(f->reconciler).is_leading);

    other = *f;
    other.reconciler = NULL;
    other.inventory = inventory_new(&(struct inventory_config){
        .changed = on_owner_changed,
        .data = &other,
    });
    inventory_want(other.inventory, KUBE_POD, false);
    start_reconciler(&other);
    list_web(&other);
    wait_synced(&other);
    assert_false(reconciler_get_stats(other.reconciler).is_leading);

    put_service(&other, "web", "10.0.0.10"); /* still unknown to the leader */
    loop_until(f->loop, is_waiting, &other);
    put_service(f, "web", "10.0.0.10");
    loop_until(f->loop, is_idle, &other);
    loop_until(f->loop, is_idle, f);
    assert_counts(f, 4, 2);
    assert_counts(&other, 0, 0);

    put_service(&other, "web", "10.0.0.26");
    loop_until(f->loop, is_waiting, &other);
    wait_drained(f); /* hands over */
    loop_until(f->loop, is_idle, &other);
    assert_counts(&other, 1, 1);
    assert_tree(f, KUBERNETES "svc/default/web/734242 " IP("10.0.0.26") "\n");
    reconciler_stop(other.reconciler);
    inventory_free(other.inventory);
}

UNIT_TEST_ON(test_explains_what_it_waits_for, struct fixture *f)
{
    CLEANUP_BUF struct buf text = buf_of(4096);
    start_reconciler(f);
    reconciler_explain(f->reconciler, &text);
    assert_string_equal(buf_cstr(&text), "etcd has not been read yet");
}

enum { SERVICES = 40, CHANGES = 3000 };

/* Adds the tree's line for the service to the text. */
static void append_expected(struct fixture *f, int number, uint32_t host, struct buf *out)
{
    char label[9];
    CLEANUP_FREE char *spoken = xasprintf("10.9.%u.%u", host / 256, host % 256);
    struct record record = {.host = slice_str(spoken), .priority = 10, .weight = 10, .ttl_s = 30};
    CLEANUP_BUF struct buf value = buf_of(1024);
    record_to_json(&record, &value);
    buf_printf(out, "svc/default/s%02d/%s ", number, record_label(buf_slice(&value), label));
    buf_append_slice(out, buf_slice(&value));
    buf_append_char(out, '\n');
}

UNIT_TEST_ON(test_many_changes_without_waiting, struct fixture *f)
{
    uint32_t hosts[SERVICES] = {0}; /* 0 = none */
    random_state = 20240607;
    synced_with_kubernetes(f);
    for (int i = 0; i < CHANGES; i++) {
        int number = (int)(random_below(SERVICES));
        CLEANUP_FREE char *name = xasprintf("s%02d", number);
        if (hosts[number] && random_below(3) == 0) {
            hosts[number] = 0;
            inventory_remove(f->inventory, KUBE_SERVICE, "default", name);
        } else {
            hosts[number] = 1 + random_below(60000);
            CLEANUP_FREE char *ip =
                xasprintf("10.9.%u.%u", hosts[number] / 256, hosts[number] % 256);
            put_service(f, name, ip);
        }
        if (random_below(2)) {
            ev_run(f->loop, EVRUN_NOWAIT);
        }
    }
    wait_drained(f);
    CLEANUP_BUF struct buf want = buf_of(1 << 20);
    buf_append_str(&want, KUBERNETES);
    for (int i = 0; i < SERVICES; i++) {
        if (hosts[i]) {
            append_expected(f, i, hosts[i], &want);
        }
    }
    assert_tree(f, buf_cstr(&want));
    assert_int_equal(reconciler_get_stats(f->reconciler).failures, 0);
}

/* Endpoints were chosen in place of slices, and found to be a substitute only when all is listed:
 * by then headless services have been planned. Without them nothing settles what they have. */
UNIT_TEST_ON(test_a_source_that_turns_out_unsettled, struct fixture *f)
{
    const char *key = "svc/default/db/c88f1059";
    put(f, key, IP("10.1.0.1"));
    start_reconciler(f);
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "kubernetes", "10.0.0.1");
    inventory_upsert(f->inventory, service_from("default", "db", "'clusterIP':'None'"));
    inventory_list_end(f->inventory, KUBE_SERVICE);
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    f->want = 1;
    loop_until(f->loop, has_written, f); /* kubernetes: both were planned */
    wait_drained(f);
    inventory_settle_endpoints(f->inventory, false);
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
    wait_synced(f); /* readiness does not wait for it */
    wait_drained(f);
    assert_counts(f, 1, 0);
    inventory_settle_endpoints(f->inventory, true);
    f->want = 1;
    loop_until(f->loop, has_deleted, f);
    wait_drained(f);
    assert_tree(f, KUBERNETES);
}

static void put_slice_of(struct fixture *f, const char *service, int number, int endpoints)
{
    CLEANUP_BUF struct buf rest = buf_of(1 << 16);
    buf_append_str(&rest, "'addressType':'IPv4','ports':[{'name':'x','port':80,'protocol':'TCP'}],"
                          "'endpoints':[");
    for (int i = 0; i < endpoints; i++) {
        buf_printf(&rest, "%s{'addresses':['10.1.%d.%d'],'conditions':{'ready':true}}",
                   i ? "," : "", number, i + 1);
    }
    buf_append_char(&rest, ']');
    inventory_upsert(f->inventory, slice_from("default", service, service, buf_cstr(&rest)));
}

/* Changes planned by themselves: the one that no longer fits into the transaction is planned again.
 */
UNIT_TEST_ON(test_what_is_planned_twice_counts_once, struct fixture *f)
{
    static const char *const names[] = {"a", "b", "c"};
    f->has_reverse = true;
    inventory_use_endpoints(f->inventory, KUBE_SLICE);
    start_reconciler(f);
    list_nothing_else(f);
    for (int i = 0; i < 3; i++) {
        inventory_upsert(f->inventory, service_from("default", names[i], "'clusterIP':'None'"));
    }
    inventory_list_begin(f->inventory, KUBE_SLICE);
    for (int i = 0; i < 3; i++) {
        put_slice_of(f, names[i], i, 1);
    }
    inventory_list_end(f->inventory, KUBE_SLICE);
    wait_synced(f);
    wait_drained(f);
    for (int endpoints = 30; endpoints > 0; endpoints -= 28) {
        for (int i = 0; i < 3; i++) {
            put_slice_of(f, names[i], i, endpoints);
        }
        wait_drained(f);
        struct reconciler_stats stats = reconciler_get_stats(f->reconciler);
        assert_int_equal(stats.desired, 2 + 3 * 3 * endpoints);
    }
}

static void reconciler_put_services(struct fixture *f, int from, int to)
{
    for (int i = from; i < to; i++) {
        char name[16], ip[32];
        (void)snprintf(name, sizeof(name), "web-%d", i);
        (void)snprintf(ip, sizeof(ip), "10.1.%d.%d", i / 256, i % 256);
        put_service(f, name, ip);
    }
}

static void count_owner(void *data, struct slice owner)
{
    unsigned *count = data;
    assert_true(owner.len > 0);
    ++*count;
}

/* Many owners with work are each listed once, in parts. If their table grows between two parts, the
 * first part comes again. */
UNIT_TEST_ON(test_many_unsettled_owners_are_told_in_parts, struct fixture *f)
{
    enum { FEW = 1500, MANY = 6000 };
    struct unsettled_place place = {0};
    unsigned count = 0, parts = 1;
    start_reconciler(f);
    reconciler_put_services(f, 0, FEW);
    while (reconciler_each_unsettled(f->reconciler, &place, count_owner, &count) !=
           UNSETTLED_LAST) {
        parts++;
    }
    assert_int_equal(count, FEW);
    assert_in_range(parts, 2, FEW);
    place = (struct unsettled_place){0};
    count = 0;
    assert_int_equal(reconciler_each_unsettled(f->reconciler, &place, count_owner, &count),
                     UNSETTLED_MORE);
    assert_in_range(count, 1, FEW - 1);
    reconciler_put_services(f, FEW, MANY);
    assert_int_equal(reconciler_each_unsettled(f->reconciler, &place, count_owner, &count),
                     UNSETTLED_ANEW);
    count = 0;
    while (reconciler_each_unsettled(f->reconciler, &place, count_owner, &count) ==
           UNSETTLED_MORE) {
    }
    assert_int_equal(count, MANY);
}

/* ---- Whether a Service is written ---- */

static bool is_web_written(const void *data)
{
    const struct fixture *f = data;
    int64_t revision;
    return reconciler_has_written(f->reconciler, slice_str("default/web"), &revision, NULL);
}

UNIT_TEST_ON(test_tells_whether_a_service_is_written, struct fixture *f)
{
    int64_t revision = 0, later = 0;
    CLEANUP_BUF struct buf why = buf_of(1024);
    start_reconciler(f);
    assert_false(reconciler_has_written(f->reconciler, slice_str("default/web"), &revision, &why));
    assert_string_equal(buf_cstr(&why), "etcd is not followed, or being read");
    list_web(f);
    wait_synced(f);
    assert_true(reconciler_has_written(f->reconciler, slice_str("default/web"), &revision, &why));
    assert_true(revision > 0);
    assert_true(reconciler_has_written(f->reconciler, slice_str("default/none"), &later, &why));
    put_service(f, "web", "10.0.0.77");
    buf_clear(&why);
    assert_false(reconciler_has_written(f->reconciler, slice_str("default/web"), &later, &why));
    assert_string_equal(buf_cstr(&why), "queued");
    loop_until(f->loop, is_web_written, f);
    assert_true(reconciler_has_written(f->reconciler, slice_str("default/web"), &later, &why));
    assert_true(later > revision);
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "web");
    assert_false(is_web_written(f));
    loop_until(f->loop, is_web_written, f);
    assert_true(reconciler_has_written(f->reconciler, slice_str("default/web"), &revision, &why));
    assert_true(revision > later); /* that of the deletion */
}
