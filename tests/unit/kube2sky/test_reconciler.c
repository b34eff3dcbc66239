/* reconciler, with a real etcd: what it writes, what it leaves alone, what it waits for. Each test
 * has a domain of its own in one etcd. */
#include "tests/unit/kube2sky/objects.h"

#include <stdio.h>

#include <ev.h>

#include "common/attributes.h"
#include "common/buf.h"
#include "common/etcd.h"
#include "common/outage.h"
#include "common/record_json.h"
#include "kube2sky/inventory.h"
#include "kube2sky/naming.h"
#include "kube2sky/plan.h"
#include "kube2sky/reconciler.h"
#include "tests/support/etcd_proc.h"
#include "tests/support/etcd_sync.h"
#include "tests/support/relay.h"

/* Shared by all tests. */
static struct etcd_proc *proc;
static unsigned domains_used;

struct fixture {
    struct ev_loop *loop;
    ev_timer tick;
    struct etcd *etcd;
    struct inventory *inventory;
    struct outage outage;
    struct reconciler *reconciler;
    char *domain;        /* "t7." */
    char *tree;          /* "/skydns/t7/" */
    struct relay *relay; /* between us and etcd; NULL: none */
    uint64_t want;       /* for the conditions below */
    bool is_drained;

    /* Before start_reconciler */
    bool has_reverse;
    bool is_dry;
    int64_t lease_s;
    size_t planned; /* operations of a dry run */
};

static void on_owner_changed(void *data, struct slice owner)
{
    struct fixture *f = data;
    if (f->reconciler) {
        reconciler_owner_changed(f->reconciler, owner);
    }
}

/* The reconciler works before the loop sleeps; what it has done then is seen at the next tick. */
static void on_tick(struct ev_loop *loop UNUSED, ev_timer *timer UNUSED, int revents UNUSED)
{
}

static void on_planned(void *data, const struct plan *plan)
{
    struct fixture *f = data;
    f->planned += plan->op_count;
}

static void start_reconciler(struct fixture *f)
{
    f->reconciler = reconciler_start(&(struct reconciler_config){
        .loop = f->loop,
        .etcd = f->etcd,
        .inventory = f->inventory,
        .outage = &f->outage,
        .domain = f->domain,
        .ttl_s = 30,
        .txn_ops_max = ETCD_TXN_OPS_MAX,
        .no_reverse = !f->has_reverse,
        .leader_lease_s = f->lease_s,
        .planned = f->is_dry ? on_planned : NULL,
        .data = f,
    });
}

static int start_etcd(void **state)
{
    (void)state;
    proc = etcd_proc_start();
    return 0;
}

static int end_etcd(void **state)
{
    (void)state;
    etcd_proc_free(proc);
    return 0;
}

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    struct err err = {.code = 0};
    f->loop = ev_loop_new(EVFLAG_AUTO);
    ev_timer_init(&f->tick, on_tick, 0.001, 0.001);
    ev_timer_start(f->loop, &f->tick);
    outage_init(&f->outage, f->loop, "etcd", 10000, "etcd is overdue");
    f->domain = xasprintf("t%u.", ++domains_used);
    f->tree = xasprintf("/skydns/t%u/", domains_used);
    const struct etcd_config config = {
        .loop = f->loop,
        .endpoints = etcd_proc_url(proc),
        .call_timeout_ms = 10000,
    };
    assert_int_equal(etcd_new(&config, &f->etcd, &err), 0);
    f->inventory = inventory_new(&(struct inventory_config){
        .changed = on_owner_changed,
        .data = f,
    });
    inventory_want_pods(f->inventory, false);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    reconciler_stop(f->reconciler);
    outage_fini(&f->outage);
    inventory_free(f->inventory);
    etcd_free(f->etcd);
    relay_free(f->relay);
    ev_timer_stop(f->loop, &f->tick);
    ev_loop_destroy(f->loop);
    free(f->domain);
    free(f->tree);
    free(f);
    return 0;
}

/* ---- What is in etcd ---- */

struct tree {
    struct buf text; /* "key value\n", keys below the tree */
    size_t count;
    int64_t revision;      /* of the store */
    int64_t last_modified; /* the newest mod_revision in it */
    const struct fixture *of;
    bool is_read;
};

static void on_range(void *data, const struct etcd_range_reply *reply, const struct err *err)
{
    struct tree *tree = data;
    assert_null(err);
    for (size_t i = 0; i < reply->count; i++) {
        const struct etcd_kv *kv = &reply->kvs[i];
        size_t n = strlen(tree->of->tree);
        buf_append(&tree->text, kv->key.ptr + n, kv->key.len - n);
        buf_append_char(&tree->text, ' ');
        buf_append_slice(&tree->text, kv->value);
        buf_append_char(&tree->text, '\n');
        tree->last_modified =
            kv->mod_revision > tree->last_modified ? kv->mod_revision : tree->last_modified;
    }
    tree->count = reply->count;
    tree->revision = reply->revision;
    tree->is_read = true;
}

static bool is_tree_read(const void *data)
{
    return ((const struct tree *)data)->is_read;
}

/* At a revision, 0 = now. */
static void read_tree(struct fixture *f, int64_t revision, struct tree *ret_tree)
{
    char end[64];
    struct etcd_range range = {.key = slice_str(f->tree), .revision = revision};
    *ret_tree = (struct tree){.of = f};
    buf_init(&ret_tree->text, 1 << 24);
    range.range_end = etcd_prefix_end(range.key, end);
    etcd_range(f->etcd, &range, on_range, ret_tree);
    loop_until(f->loop, is_tree_read, ret_tree);
}

static void assert_tree(struct fixture *f, const char *want)
{
    struct tree tree;
    read_tree(f, 0, &tree);
    assert_string_equal(buf_cstr(&tree.text), want);
    buf_fini(&tree.text);
}

static int64_t put(struct fixture *f, const char *below, const char *value)
{
    char *key = xasprintf("%s%s", f->tree, below);
    int64_t revision = sync_put(f->loop, f->etcd, key, slice_str(value));
    free(key);
    return revision;
}

static void del(struct fixture *f, const char *below)
{
    char *key = xasprintf("%s%s", f->tree, below);
    sync_del(f->loop, f->etcd, key);
    free(key);
}

#define TAIL  ",\"priority\":10,\"weight\":10,\"ttl\":30,\"targetstrip\":0}"
#define IP(a) "{\"host\":\"" a "\"" TAIL

/* ---- What there is to write ---- */

static void put_service(struct fixture *f, const char *name, const char *ip)
{
    char *spec = xasprintf("'clusterIP':'%s'", ip);
    inventory_upsert(f->inventory, service_from("default", name, spec));
    free(spec);
}

static void put_service_with_port(struct fixture *f, const char *name, const char *ip, int port)
{
    char *spec = xasprintf("'clusterIP':'%s','ports':[{'name':'http','port':%d,'protocol':'TCP'}]",
                           ip, port);
    inventory_upsert(f->inventory, service_from("default", name, spec));
    free(spec);
}

/* default/kubernetes with 10.0.0.1 alone. */
static void list_nothing_else(struct fixture *f)
{
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "kubernetes", "10.0.0.1");
    inventory_list_end(f->inventory, KUBE_SERVICE);
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
}

#define KUBERNETES "svc/default/kubernetes/c88f1059 " IP("10.0.0.1") "\n"

/* ---- Waiting ---- */

static bool has_synced(const void *data)
{
    const struct fixture *f = data;
    return reconciler_has_synced(f->reconciler) &&
           (f->is_dry || reconciler_get_stats(f->reconciler).mirror.has_store_key);
}

static bool has_written(const void *data)
{
    const struct fixture *f = data;
    return reconciler_get_stats(f->reconciler).keys_written >= f->want;
}

static bool has_deleted(const void *data)
{
    const struct fixture *f = data;
    return reconciler_get_stats(f->reconciler).keys_deleted >= f->want;
}

static bool has_failed(const void *data)
{
    const struct fixture *f = data;
    return reconciler_get_stats(f->reconciler).failures >= f->want;
}

static bool has_foreign(const void *data)
{
    const struct fixture *f = data;
    return reconciler_get_stats(f->reconciler).foreign >= f->want;
}

static bool is_waiting(const void *data)
{
    return reconciler_get_stats(((const struct fixture *)data)->reconciler).waiting > 0;
}

static bool is_idle(const void *data)
{
    struct reconciler_stats stats =
        reconciler_get_stats(((const struct fixture *)data)->reconciler);
    return stats.waiting == 0 && stats.flights == 0;
}

static bool is_drained(const void *data)
{
    return ((const struct fixture *)data)->is_drained;
}

static void on_drained(void *data)
{
    ((struct fixture *)data)->is_drained = true;
}

static void wait_synced(struct fixture *f)
{
    loop_until(f->loop, has_synced, f);
}

static void wait_drained(struct fixture *f)
{
    f->is_drained = false;
    reconciler_drain(f->reconciler, on_drained, f);
    loop_until(f->loop, is_drained, f);
}

static void assert_counts(const struct fixture *f, uint64_t written, uint64_t deleted)
{
    struct reconciler_stats stats = reconciler_get_stats(f->reconciler);
    assert_int_equal(stats.keys_written, written);
    assert_int_equal(stats.keys_deleted, deleted);
}

static void synced_with_kubernetes(struct fixture *f)
{
    start_reconciler(f);
    list_nothing_else(f);
    wait_synced(f);
}

/* ---- Tests ---- */

static void test_writes_what_is_missing_and_removes_orphans(void **state)
{
    struct fixture *f = *state;
    put(f, "svc/default/gone/abc", "{}");
    put(f, "svc/loose", "{}");
    put(f, "svc//x//y/", "{}");
    put(f, "svc/default/web/19ccb11", IP("10.0.0.9")); /* right already */
    put(f, "pod/default/10-0-0-1/c88f1059", "{}");
    put(f, "svc", "{}"); /* this and the next three are not ours */
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
    char *want = xasprintf("dns/ns/a {}\n"
                           "svc {}\n" KUBERNETES "svc/default/web/19ccb11 " IP(
                               "10.0.0.9") "\nsvc/default/web/_tcp/_http/19ccb11 "
                                           "{\"host\":\"web.default.svc.%s\",\"port\":80" TAIL "\n"
                                           "svcx/default/web {}\n"
                                           "x {}\n",
                           f->domain);
    assert_tree(f, want);
    free(want);
    assert_counts(f, 2, 4);
    assert_int_equal(reconciler_get_stats(f->reconciler).desired, 3);
}

static void test_deletes_nothing_before_everything_is_listed(void **state)
{
    struct fixture *f = *state;
    put(f, "svc/default/gone/abc", "{}");
    put(f, "svc/default/moved/19ccb11", IP("10.0.0.9"));
    start_reconciler(f);
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "moved", "10.0.0.10");
    put_service(f, "kubernetes", "10.0.0.1");
    f->want = 1;
    loop_until(f->loop, has_written, f);
    wait_drained(f);
    assert_false(reconciler_has_synced(f->reconciler));
    assert_counts(f, 1, 0); /* a change that deletes waits as a whole */
    assert_tree(f, "svc/default/gone/abc {}\n" KUBERNETES
                   "svc/default/moved/19ccb11 " IP("10.0.0.9") "\n");
    inventory_list_end(f->inventory, KUBE_SERVICE);
    f->want = 2; /* endpoints feed none of these */
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

/* kubernetes and web with one port. */
static void list_web(struct fixture *f)
{
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "kubernetes", "10.0.0.1");
    put_service_with_port(f, "web", "10.0.0.9", 80);
    inventory_list_end(f->inventory, KUBE_SERVICE);
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
}

static void test_restart_writes_nothing(void **state)
{
    struct fixture *f = *state;
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
    assert_int_equal(reconciler_get_stats(f->reconciler).transactions, 0);
    assert_int_equal(reconciler_get_stats(f->reconciler).desired, 3);
    list_web(f); /* as after a 410 */
    wait_drained(f);
    assert_counts(f, 0, 0);
    read_tree(f, 0, &after);
    assert_int_equal(before.revision, after.revision);
    buf_fini(&before.text);
    buf_fini(&after.text);
}

static void test_what_others_do_is_undone(void **state)
{
    struct fixture *f = *state;
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

static void test_a_change_is_one_transaction(void **state)
{
    struct fixture *f = *state;
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
static void put_endpoints(struct fixture *f, int net, int count)
{
    struct buf subset;
    buf_init(&subset, 1 << 20);
    buf_append_str(&subset, "{'addresses':[");
    for (int i = 0; i < count; i++) {
        buf_printf(&subset, "%s{'ip':'10.%d.%d.%d'}", i ? "," : "", net, i / 256, i % 256);
    }
    buf_append_str(&subset, "]}");
    inventory_upsert(f->inventory, endpoints_from("default", "db", buf_cstr(&subset)));
    buf_fini(&subset);
}

static void test_a_change_larger_than_a_transaction_adds_first(void **state)
{
    struct fixture *f = *state;
    struct tree tree;
    synced_with_kubernetes(f);
    put_endpoints(f, 1, 300);
    inventory_upsert(f->inventory, service_from("default", "db", "'clusterIP':'None'"));
    wait_drained(f);
    read_tree(f, 0, &tree);
    assert_int_equal(tree.count, 301);
    int64_t before = tree.last_modified;
    buf_fini(&tree.text);
    put_endpoints(f, 2, 300);
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

static void test_a_large_change_overtaken_by_a_small_one_is_given_up(void **state)
{
    struct fixture *f = *state;
    synced_with_kubernetes(f);
    etcd_proc_pause(proc); /* so that the first part is not answered before the second change */
    put_endpoints(f, 1, 300);
    inventory_upsert(f->inventory, service_from("default", "db", "'clusterIP':'None'"));
    ev_run(f->loop, EVRUN_NOWAIT); /* the first part is sent */
    put_endpoints(f, 2, 1);
    etcd_proc_resume(proc);
    wait_drained(f);
    assert_counts(f, 1 + ETCD_TXN_OPS_MAX + 1, ETCD_TXN_OPS_MAX);
}

static void test_an_object_that_changes_while_its_transaction_is_away(void **state)
{
    struct fixture *f = *state;
    synced_with_kubernetes(f);
    put_service(f, "web", "10.0.0.9");
    ev_run(f->loop, EVRUN_NOWAIT); /* sent, not answered */
    put_service(f, "web", "10.0.0.10");
    ev_run(f->loop, EVRUN_NOWAIT);
    put_service(f, "web", "10.0.0.26");
    wait_drained(f);
    assert_tree(f, KUBERNETES "svc/default/web/734242 " IP("10.0.0.26") "\n");
}

static void test_an_object_that_goes_while_its_transaction_is_away(void **state)
{
    struct fixture *f = *state;
    synced_with_kubernetes(f);
    put_service(f, "web", "10.0.0.9");
    ev_run(f->loop, EVRUN_NOWAIT);
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "web");
    wait_drained(f);
    assert_tree(f, KUBERNETES);
    assert_int_equal(reconciler_get_stats(f->reconciler).desired, 1);
}

/* Somebody else at the same keys, on a loop that runs alone: what it does, ours learns later. */
static void start_other(const struct fixture *f, struct fixture *ret_other)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    const struct etcd_config config = {
        .loop = loop,
        .endpoints = etcd_proc_url(proc),
        .call_timeout_ms = 10000,
    };
    *ret_other = (struct fixture){.tree = f->tree, .loop = loop};
    assert_int_equal(etcd_new(&config, &ret_other->etcd, NULL), 0);
}

static void end_other(struct fixture *other)
{
    etcd_free(other->etcd);
    ev_loop_destroy(other->loop);
}

/* Somebody deletes the key, then writes one that is not ours. Our own delete, planned before that
 * is known (the other's loop runs alone meanwhile), is not done, since its condition fails, and is
 * answered with a revision that our mirror never sees. */
static void test_deletes_of_what_is_gone_already(void **state)
{
    struct fixture *f = *state, other;
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
    end_other(&other);
}

/* One before our transaction, one behind it; we hear of both while it is away. */
static void test_keys_that_others_add_while_a_transaction_is_away(void **state)
{
    struct fixture *f = *state, other;
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
    end_other(&other);
}

static void test_what_others_did_before_the_history_was_dropped(void **state)
{
    struct fixture *f = *state, other;
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
    end_other(&other);
}

static void test_an_object_not_understood_keeps_its_keys(void **state)
{
    struct fixture *f = *state;
    put(f, "svc/default/odd/19ccb11", IP("10.0.0.9"));
    start_reconciler(f);
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "kubernetes", "10.0.0.1");
    inventory_bad(f->inventory, KUBE_SERVICE, "default/odd");
    inventory_list_end(f->inventory, KUBE_SERVICE);
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
    wait_synced(f);
    assert_tree(f, KUBERNETES "svc/default/odd/19ccb11 " IP("10.0.0.9") "\n");
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "odd");
    wait_drained(f);
    assert_tree(f, KUBERNETES);
}

static void test_etcd_killed_and_restarted(void **state)
{
    struct fixture *f = *state;
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
    assert_false(outage_is_away(&f->outage));
    assert_int_equal(reconciler_followed(f->reconciler)->returns[OUTAGE_UNAVAILABLE], 1);
    assert_int_equal(reconciler_get_stats(f->reconciler).actual, 3);
}

/* ---- Reverse keys ---- */

static void delete_reverse_tree(struct fixture *f)
{
    sync_del_prefix(f->loop, f->etcd, "/skydns/arpa/");
}

static char *read_reverse(struct fixture *f, const char *below)
{
    char *key = xasprintf("/skydns/arpa/in-addr/%s", below);
    char *value = sync_get(f->loop, f->etcd, key);
    free(key);
    return value;
}

static void put_reverse(struct fixture *f, const char *below, const char *host)
{
    char *key = xasprintf("/skydns/arpa/in-addr/%s", below);
    char *value = xasprintf("{\"host\":\"%s\"" TAIL, host);
    sync_put(f->loop, f->etcd, key, slice_str(value));
    free(value);
    free(key);
}

/* host NULL: there is no such key. "%s" in it is the domain. */
static void assert_reverse(struct fixture *f, const char *below, const char *host)
{
    char *value = read_reverse(f, below);
    if (!host) {
        assert_null(value);
        return;
    }
    char *want = xasprintf("{\"host\":\"%s.svc.%s\"" TAIL, host, f->domain);
    assert_non_null(value);
    assert_string_equal(value, want);
    free(want);
    free(value);
}

static void synced_with_reverse(struct fixture *f)
{
    f->has_reverse = true;
    delete_reverse_tree(f);
    start_reconciler(f);
    list_web(f);
    wait_synced(f);
}

static void test_reverse_keys(void **state)
{
    struct fixture *f = *state;
    synced_with_reverse(f);
    assert_counts(f, 5, 0);
    assert_int_equal(reconciler_get_stats(f->reconciler).desired, 5);
    assert_reverse(f, "10/0/0/1", "kubernetes.default");
    assert_reverse(f, "10/0/0/9", "web.default");
    put_service(f, "web", "10.0.0.10");
    wait_drained(f);
    assert_counts(f, 7, 3); /* the address, its name; both old ones and the port */
    assert_reverse(f, "10/0/0/9", NULL);
    assert_reverse(f, "10/0/0/10", "web.default");
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "web");
    wait_drained(f);
    assert_reverse(f, "10/0/0/10", NULL);
    assert_int_equal(reconciler_get_stats(f->reconciler).desired, 2);
}

/* The name of an address goes from one Service to the other in the transaction that takes the first
 * one's away. */
static void test_a_reverse_key_that_two_claim(void **state)
{
    struct fixture *f = *state;
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

/* It is taken while the transaction that gives it up is away: in the end it is the new one's. */
static void test_a_reverse_key_in_flight(void **state)
{
    struct fixture *f = *state;
    synced_with_reverse(f);
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "web");
    ev_run(f->loop, EVRUN_NOWAIT);
    put_service(f, "new", "10.0.0.9");
    ev_run(f->loop, EVRUN_NOWAIT);
    wait_drained(f);
    assert_reverse(f, "10/0/0/9", "new.default");
    put_service(f, "new", "10.0.0.10"); /* and both at once */
    put_service(f, "web", "10.0.0.9");
    wait_drained(f);
    assert_reverse(f, "10/0/0/9", "web.default");
    assert_reverse(f, "10/0/0/10", "new.default");
    assert_int_equal(reconciler_get_stats(f->reconciler).failures, 0);
}

/* One gives an address up to another, who does so too before etcd has answered: nobody has it. */
static void test_a_reverse_key_given_on_in_flight(void **state)
{
    struct fixture *f = *state;
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

static void test_reverse_keys_that_others_spoil(void **state)
{
    struct fixture *f = *state;
    synced_with_reverse(f);
    f->want = 6;
    sync_del(f->loop, f->etcd, "/skydns/arpa/in-addr/10/0/0/9");
    loop_until(f->loop, has_written, f);
    wait_drained(f);
    assert_reverse(f, "10/0/0/9", "web.default");
    char *ours = xasprintf("lost.default.svc.%s", f->domain);
    put_reverse(f, "10/0/0/9", ours); /* spoiled */
    f->want = 7;
    loop_until(f->loop, has_written, f);
    wait_drained(f);
    assert_reverse(f, "10/0/0/9", "web.default");
    put_reverse(f, "10/9/9/9", ours); /* an address that nobody has */
    put_reverse(f, "rubbish", ours);
    f->want = 2;
    loop_until(f->loop, has_deleted, f);
    wait_drained(f);
    assert_reverse(f, "10/9/9/9", NULL);
    assert_reverse(f, "rubbish", NULL);
    free(ours);
    assert_counts(f, 7, 2);
}

/* Another cluster's stays, however often it is looked at, and is taken when it is given up. */
static void test_reverse_keys_of_another_cluster(void **state)
{
    struct fixture *f = *state;
    f->has_reverse = true;
    delete_reverse_tree(f);
    put_reverse(f, "10/0/0/9", "web.default.svc.other.");
    put_reverse(f, "10/0/0/8", "x.default.svc.other.");
    start_reconciler(f);
    list_web(f);
    wait_synced(f);
    assert_counts(f, 4, 0);
    assert_int_equal(reconciler_get_stats(f->reconciler).foreign, 1);
    list_web(f);
    wait_drained(f);
    assert_counts(f, 4, 0);
    char *value = read_reverse(f, "10/0/0/9");
    assert_non_null(strstr(value, "svc.other."));
    free(value);
    sync_del(f->loop, f->etcd, "/skydns/arpa/in-addr/10/0/0/9");
    f->want = 5;
    loop_until(f->loop, has_written, f);
    wait_drained(f);
    assert_reverse(f, "10/0/0/9", "web.default");
    assert_int_equal(reconciler_get_stats(f->reconciler).foreign, 0);
}

/* Another cluster's takes a key between our planning and our transaction: it stays, whether we were
 * about to write it or to delete it, and whatever else the transaction has. */
static void test_reverse_keys_taken_by_another_cluster(void **state)
{
    struct fixture *f = *state, other;
    start_other(f, &other);
    synced_with_reverse(f);
    put_reverse(&other, "10/0/0/10", "x.default.svc.other.");
    put_service(f, "web", "10.0.0.10");
    wait_drained(f);
    f->want = 1;
    loop_until(f->loop, has_foreign, f);
    char *value = read_reverse(f, "10/0/0/10");
    assert_non_null(strstr(value, "svc.other."));
    free(value);
    assert_reverse(f, "10/0/0/9", NULL);
    put_reverse(&other, "10/0/0/1", "x.default.svc.other.");
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "kubernetes");
    wait_drained(f);
    value = read_reverse(f, "10/0/0/1");
    assert_non_null(strstr(value, "svc.other."));
    free(value);
    assert_int_equal(reconciler_get_stats(f->reconciler).failures, 0);
    end_other(&other);
}

static void test_a_restart_with_reverse_keys(void **state)
{
    struct fixture *f = *state;
    synced_with_reverse(f);
    char *ours = xasprintf("lost.default.svc.%s", f->domain);
    reconciler_stop(f->reconciler);
    put_reverse(f, "10/9/9/9", ours);
    free(ours);
    start_reconciler(f);
    list_web(f);
    wait_synced(f);
    wait_drained(f);
    assert_counts(f, 0, 1);
    assert_reverse(f, "10/9/9/9", NULL);
    reconciler_stop(f->reconciler);
    f->has_reverse = false; /* those it does not write any more go */
    start_reconciler(f);
    list_web(f);
    wait_synced(f);
    wait_drained(f);
    assert_counts(f, 0, 2);
    assert_reverse(f, "10/0/0/9", NULL);
}

/* ---- Who may not write ---- */

static void test_a_dry_run_writes_nothing(void **state)
{
    struct fixture *f = *state;
    put(f, "svc/default/gone/abc", "{}");
    f->is_dry = true;
    start_reconciler(f);
    list_web(f);
    wait_synced(f);
    assert_tree(f, "svc/default/gone/abc {}\n");
    assert_int_equal(reconciler_get_stats(f->reconciler).transactions, 0);
    assert_int_equal(reconciler_get_stats(f->reconciler).waiting, 3);
    assert_int_equal(f->planned, 4);
}

/* The one that does not lead is ready, writes nothing, and has nothing left to do once it has seen
 * what the other wrote; when the other stops, it goes on. */
static void test_two_writers(void **state)
{
    struct fixture *f = *state, other;
    f->lease_s = 2;
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
    inventory_want_pods(other.inventory, false);
    start_reconciler(&other);
    list_web(&other);
    wait_synced(&other);
    assert_false(reconciler_get_stats(other.reconciler).is_leading);
    assert_string_equal(reconciler_leader(other.reconciler), reconciler_leader(f->reconciler));

    put_service(&other, "web", "10.0.0.10"); /* of which the leader does not know yet */
    loop_until(f->loop, is_waiting, &other);
    put_service(f, "web", "10.0.0.10");
    loop_until(f->loop, is_idle, &other);
    loop_until(f->loop, is_idle, f);
    assert_counts(f, 4, 2);
    assert_counts(&other, 0, 0);

    put_service(&other, "web", "10.0.0.26");
    loop_until(f->loop, is_waiting, &other);
    wait_drained(f); /* which hands over */
    loop_until(f->loop, is_idle, &other);
    assert_counts(&other, 1, 1);
    assert_tree(f, KUBERNETES "svc/default/web/734242 " IP("10.0.0.26") "\n");
    reconciler_stop(other.reconciler);
    inventory_free(other.inventory);
}

/* ---- Transactions whose fate is not known ---- */

/* The reconciler has reached etcd through a relay, and everything is in it. */
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

static int64_t store_revision(struct fixture *other)
{
    struct tree tree;
    read_tree(other, 0, &tree);
    buf_fini(&tree.text);
    return tree.revision;
}

/* Ours runs until somebody else sees that etcd has done something. */
static void until_store_moves(struct fixture *f, struct fixture *other, int64_t from)
{
    while (store_revision(other) == from) {
        ev_run(f->loop, EVRUN_ONCE);
    }
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
    return reconciler_get_stats(f->reconciler).transactions >= f->want;
}

static void wait_for_transactions(struct fixture *f, uint64_t count)
{
    f->want = count;
    loop_until(f->loop, has_done, f);
    wait_drained(f);
    assert_int_equal(reconciler_get_stats(f->reconciler).transactions, count);
}

/* etcd does it, and neither its reply nor the watch's news reach us: it is found to be done, and
 * not sent again. */
static void test_a_reply_that_is_lost(void **state)
{
    struct fixture *f = *state, other;
    synced_through_relay(f, &other);
    int64_t revision = store_revision(&other);
    uint64_t transactions = reconciler_get_stats(f->reconciler).transactions;

    relay_set(f->relay, RELAY_MUTE);
    put_service_with_port(f, "web", "10.0.0.10", 81);
    put_service(f, "new", "10.0.0.26");
    until_store_moves(f, &other, revision);
    relay_cut(f->relay);
    relay_set(f->relay, RELAY_OPEN);
    wait_for_transactions(f, transactions + 1);
    assert_counts(f, 6, 2);
    assert_int_equal(store_revision(&other), revision + 1);

    relay_set(f->relay, RELAY_MUTE); /* nothing but deletes */
    inventory_remove(f->inventory, KUBE_SERVICE, "default", "web");
    until_store_moves(f, &other, revision + 1);
    relay_cut(f->relay);
    relay_set(f->relay, RELAY_OPEN);
    wait_for_transactions(f, transactions + 2);
    assert_counts(f, 6, 4);
    assert_int_equal(store_revision(&other), revision + 2);
    assert_tree(f, KUBERNETES "svc/default/new/734242 " IP("10.0.0.26") "\n");
    end_other(&other);
}

/* The same, and the object has changed before that is known: only the difference is written. */
static void test_a_change_while_a_reply_is_lost(void **state)
{
    struct fixture *f = *state, other;
    synced_through_relay(f, &other);
    int64_t revision = store_revision(&other);
    uint64_t transactions = reconciler_get_stats(f->reconciler).transactions;
    relay_set(f->relay, RELAY_MUTE);
    put_service_with_port(f, "web", "10.0.0.10", 81);
    until_store_moves(f, &other, revision);
    put_service_with_port(f, "web", "10.0.0.10", 82);
    relay_cut(f->relay);
    relay_set(f->relay, RELAY_OPEN);
    wait_for_transactions(f, transactions + 2);
    assert_counts(f, 3 + 2 + 1, 2);
    assert_int_equal(store_revision(&other), revision + 2);
    end_other(&other);
}

/* The request of a change is on its way for so long that we have given it up and sent another. */
static void deliver_late(struct fixture *f, struct fixture *other, bool has_changed)
{
    uint64_t transactions = reconciler_get_stats(f->reconciler).transactions;
    relay_set(f->relay, RELAY_HOLD);
    put_service(f, "web", "10.0.0.10"); /* two deletes, one put */
    put_service(f, "new", "10.0.0.26");
    f->want = 400;
    loop_until(f->loop, has_held, f);
    relay_cut(f->relay);
    relay_set(f->relay, RELAY_OPEN);
    if (has_changed) {
        put_service_with_port(f, "web", "10.0.0.9", 80); /* as it was */
    }
    wait_for_transactions(f, transactions + 1);
    int64_t revision = store_revision(other);

    relay_deliver(f->relay);
    if (has_changed) {
        wait_for_transactions(f, transactions + 2);
        return;
    }
    f->want = 80; /* a reply, with its headers */
    loop_until(f->loop, has_reached_nobody, f);
    wait_drained(f);
    assert_int_equal(store_revision(other), revision);
}

static void test_a_request_that_arrives_late_is_not_done(void **state)
{
    struct fixture *f = *state, other;
    synced_through_relay(f, &other);
    deliver_late(f, &other, false);
    assert_counts(f, 3 + 2, 2);
    assert_tree(f, KUBERNETES "svc/default/new/734242 " IP(
                       "10.0.0.26") "\nsvc/default/web/21172049 " IP("10.0.0.10") "\n");
    end_other(&other);
}

static void test_a_request_that_arrives_late_is_mended(void **state)
{
    struct fixture *f = *state, other;
    synced_through_relay(f, &other);
    deliver_late(f, &other, true);
    char *want = xasprintf(
        KUBERNETES "svc/default/new/734242 " IP("10.0.0.26") "\nsvc/default/web/19ccb11 " IP(
            "10.0.0.9") "\n"
                        "svc/default/web/_tcp/_http/19ccb11 "
                        "{\"host\":\"web.default.svc.%s\",\"port\":80" TAIL "\n",
        f->domain);
    assert_tree(f, want);
    free(want);
    end_other(&other);
}

/* Seven keys where etcd takes four operations: nothing this owner wants is ever done. */
static void put_poison(struct fixture *f)
{
    struct buf spec;
    buf_init(&spec, 4096);
    buf_append_str(&spec, "'clusterIP':'10.0.0.10','ports':[");
    for (int i = 1; i <= 6; i++) {
        buf_printf(&spec, "%s{'name':'p%d','port':%d,'protocol':'TCP'}", i > 1 ? "," : "", i, i);
    }
    buf_append_char(&spec, ']');
    inventory_upsert(f->inventory, service_from("default", "poison", buf_cstr(&spec)));
    buf_fini(&spec);
}

static void test_a_change_that_etcd_refuses_holds_up_no_other(void **state)
{
    struct fixture *f = *state;
    etcd_proc_terminate(proc);
    assert_int_equal(setenv("ETCD_MAX_TXN_OPS", "4", 1), 0);
    etcd_proc_restart(proc);
    synced_with_kubernetes(f);
    put_poison(f);
    put_service(f, "web", "10.0.0.9");
    f->want = 2;
    loop_until(f->loop, has_written, f);
    assert_tree(f, KUBERNETES "svc/default/web/19ccb11 " IP("10.0.0.9") "\n");
    for (f->want = 3; f->want < 6; f->want++) { /* and goes on like this */
        put_service(f, "web", f->want % 2 ? "10.0.0.26" : "10.0.0.9");
        loop_until(f->loop, has_written, f);
    }
    assert_true(reconciler_get_stats(f->reconciler).failures > 1);

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

    uint64_t transactions = reconciler_get_stats(f->reconciler).transactions;
    put_service(f, "poison", "10.0.0.1"); /* together again */
    put_service(f, "web", "10.0.0.1");
    wait_drained(f);
    assert_int_equal(reconciler_get_stats(f->reconciler).transactions, transactions + 1);
}

/* ---- The store key ---- */

struct store_key {
    char value[64]; /* "" = there is none */
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
    char *name = xasprintf("/kube2sky/%.*s/store", (int)strlen(f->domain) - 1, f->domain);
    const struct etcd_range range = {.key = slice_str(name)};
    etcd_range(f->etcd, &range, on_store_key, &key);
    loop_until(f->loop, is_store_key_read, &key);
    free(name);
    return key;
}

/* After everything else, in a revision of its own, and once for all. */
static void test_store_gets_its_key(void **state)
{
    struct fixture *f = *state;
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

/* What the old etcd held is not believed of the new one, whose flags and port are the same. */
static void test_etcd_wiped_and_restarted(void **state)
{
    struct fixture *f = *state;
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

static void test_explains_what_it_waits_for(void **state)
{
    struct fixture *f = *state;
    struct buf text;
    buf_init(&text, 4096);
    start_reconciler(f);
    reconciler_explain(f->reconciler, &text);
    assert_string_equal(buf_cstr(&text), "etcd is not read yet");
    buf_fini(&text);
}

/* ---- Many changes, none waited for ---- */

enum { SERVICES = 40, CHANGES = 3000 };

/* xorshift32: the same sequence every time. */
static uint32_t next_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* Adds the tree's line for the service to the text. */
static void append_expected(struct fixture *f, int number, uint32_t host, struct buf *out)
{
    struct buf value;
    char label[9];
    char *spoken = xasprintf("10.9.%u.%u", host / 256, host % 256);
    struct record record = {.host = spoken, .priority = 10, .weight = 10, .ttl_s = 30};
    (void)f;
    buf_init(&value, 1024);
    record_to_json(&record, &value);
    buf_printf(out, "svc/default/s%02d/%s ", number, record_label(buf_slice(&value), label));
    buf_append_slice(out, buf_slice(&value));
    buf_append_char(out, '\n');
    buf_fini(&value);
    free(spoken);
}

static void test_many_changes_without_waiting(void **state)
{
    struct fixture *f = *state;
    uint32_t seed = 20240607, hosts[SERVICES] = {0}; /* 0 = there is none */
    synced_with_kubernetes(f);
    for (int i = 0; i < CHANGES; i++) {
        int number = (int)(next_random(&seed) % SERVICES);
        char *name = xasprintf("s%02d", number);
        if (hosts[number] && next_random(&seed) % 3 == 0) {
            hosts[number] = 0;
            inventory_remove(f->inventory, KUBE_SERVICE, "default", name);
        } else {
            hosts[number] = 1 + next_random(&seed) % 60000;
            char *ip = xasprintf("10.9.%u.%u", hosts[number] / 256, hosts[number] % 256);
            put_service(f, name, ip);
            free(ip);
        }
        free(name);
        if (next_random(&seed) % 2) {
            ev_run(f->loop, EVRUN_NOWAIT);
        }
    }
    wait_drained(f);
    struct buf want;
    buf_init(&want, 1 << 20);
    buf_append_str(&want, KUBERNETES);
    for (int i = 0; i < SERVICES; i++) {
        if (hosts[i]) {
            append_expected(f, i, hosts[i], &want);
        }
    }
    assert_tree(f, buf_cstr(&want));
    buf_fini(&want);
    assert_int_equal(reconciler_get_stats(f->reconciler).failures, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_writes_what_is_missing_and_removes_orphans),
        TEST(test_deletes_nothing_before_everything_is_listed),
        TEST(test_restart_writes_nothing),
        TEST(test_what_others_do_is_undone),
        TEST(test_a_change_is_one_transaction),
        TEST(test_a_change_larger_than_a_transaction_adds_first),
        TEST(test_a_large_change_overtaken_by_a_small_one_is_given_up),
        TEST(test_an_object_that_changes_while_its_transaction_is_away),
        TEST(test_an_object_that_goes_while_its_transaction_is_away),
        TEST(test_deletes_of_what_is_gone_already),
        TEST(test_keys_that_others_add_while_a_transaction_is_away),
        TEST(test_what_others_did_before_the_history_was_dropped),
        TEST(test_an_object_not_understood_keeps_its_keys),
        TEST(test_etcd_killed_and_restarted),
        TEST(test_reverse_keys),
        TEST(test_a_reverse_key_that_two_claim),
        TEST(test_a_reverse_key_in_flight),
        TEST(test_a_reverse_key_given_on_in_flight),
        TEST(test_reverse_keys_that_others_spoil),
        TEST(test_reverse_keys_of_another_cluster),
        TEST(test_reverse_keys_taken_by_another_cluster),
        TEST(test_a_restart_with_reverse_keys),
        TEST(test_a_dry_run_writes_nothing),
        TEST(test_two_writers),
        TEST(test_a_reply_that_is_lost),
        TEST(test_a_change_while_a_reply_is_lost),
        TEST(test_a_request_that_arrives_late_is_not_done),
        TEST(test_a_request_that_arrives_late_is_mended),
        TEST(test_a_change_that_etcd_refuses_holds_up_no_other),
        TEST(test_store_gets_its_key),
        TEST(test_etcd_wiped_and_restarted),
        TEST(test_explains_what_it_waits_for),
        TEST(test_many_changes_without_waiting),
#undef TEST
    };
    const char *missing = etcd_proc_missing();
    if (missing) {
        print_message("skipped: %s\n", missing);
        return 0;
    }
    return cmocka_run_group_tests(tests, start_etcd, end_etcd);
}
