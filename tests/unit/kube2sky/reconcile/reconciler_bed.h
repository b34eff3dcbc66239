/* A reconciler on a real etcd, and the objects it must write: for its tests. Each test has its own
 * domain in one shared etcd. */
#ifndef TESTS_UNIT_KUBE2SKY_RECONCILE_RECONCILER_BED_H
#define TESTS_UNIT_KUBE2SKY_RECONCILE_RECONCILER_BED_H

#include "tests/unit/kube2sky/objects.h"

#include <ev.h>

#include "common/base/buf.h"
#include "common/base/outage.h"
#include "common/dns/record_json.h"
#include "common/etcd/etcd.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/naming.h"
#include "kube2sky/reconcile/plan.h"
#include "kube2sky/reconcile/reconciler.h"
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
    bool own_only_written;
    bool is_dry;
    int64_t lease_s;
    bool has_config_map;
    struct client_keys *client_keys;    /* the test's; NULL: none */
    const struct override_zones *zones; /* the test's; NULL: none */
    const char *const *namespaces;
    size_t namespace_count;
    bool has_nodes;
    size_t txn_ops_max; /* 0: etcd's */
    uint64_t etcd_space_bytes;
    uint32_t owner_keys_max;
    uint64_t ns_keys_max;
    size_t planned; /* operations of a dry run */
};

static inline void on_owner_changed(void *data, struct slice owner)
{
    struct fixture *f = data;
    if (f->reconciler) {
        reconciler_owner_changed(f->reconciler, owner);
    }
}

static inline void on_slice_changed(void *data, struct slice owner,
                                    const struct slice_change *change)
{
    struct fixture *f = data;
    if (f->reconciler) {
        reconciler_slice_changed(f->reconciler, owner, change);
    }
}

/* The reconciler works before the loop sleeps; the next tick checks the result. */
static inline void on_tick(struct ev_loop *loop UNUSED, ev_timer *timer UNUSED, int revents UNUSED)
{
}

static inline void on_planned(void *data, const struct plan *plan)
{
    struct fixture *f = data;
    f->planned += plan->op_count;
}

static inline void start_reconciler(struct fixture *f)
{
    f->reconciler = reconciler_start(&(struct reconciler_config){
        .loop = f->loop,
        .etcd = f->etcd,
        .inventory = f->inventory,
        .outage = &f->outage,
        .domain = f->domain,
        .ttl_s = 30,
        .txn_ops_max = f->txn_ops_max ? f->txn_ops_max : ETCD_TXN_OPS_MAX,
        .etcd_space_bytes = f->etcd_space_bytes,
        .owner_keys_max = f->owner_keys_max,
        .ns_keys_max = f->ns_keys_max,
        .has_config_map = f->has_config_map,
        .client_keys = f->client_keys,
        .zones = f->zones,
        .namespaces = f->namespaces,
        .namespace_count = f->namespace_count,
        .no_reverse = !f->has_reverse,
        .own_only_written = f->own_only_written,
        .has_nodes = f->has_nodes,
        .leader_lease_s = f->lease_s,
        .planned = f->is_dry ? on_planned : NULL,
        .data = f,
    });
}

static inline int start_etcd(void **state)
{
    proc = etcd_proc_start();
    return 0;
}

static inline int end_etcd(void **state)
{
    etcd_proc_free(proc);
    return 0;
}

/* Empty; it replaces the last one, as when the process restarts. */
static inline void start_inventory(struct fixture *f)
{
    inventory_free(f->inventory);
    f->inventory = inventory_new(&(struct inventory_config){
        .changed = on_owner_changed,
        .slice_changed = on_slice_changed,
        .data = f,
    });
    inventory_want(f->inventory, KUBE_POD, false);
}

static inline int set_up(void **state)
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
    start_inventory(f);
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
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

/* ---- Content of etcd ---- */

struct tree {
    struct buf text; /* "key value\n", keys below the tree */
    size_t count;
    int64_t revision;      /* of the store */
    int64_t last_modified; /* the newest mod_revision in it */
    const struct fixture *of;
    bool is_read;
};

static inline void on_range(void *data, const struct etcd_range_reply *reply, const struct err *err)
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

static inline bool is_tree_read(const void *data)
{
    return ((const struct tree *)data)->is_read;
}

/* At this revision, 0 = now. */
static inline void read_tree(struct fixture *f, int64_t revision, struct tree *ret_tree)
{
    char end[64];
    struct etcd_range range = {.key = slice_str(f->tree), .revision = revision};
    *ret_tree = (struct tree){.of = f};
    buf_init(&ret_tree->text, 1 << 24);
    range.range_end = etcd_prefix_end(range.key, end);
    etcd_range(f->etcd, &range, on_range, ret_tree);
    loop_until(f->loop, is_tree_read, ret_tree);
}

static inline void assert_tree(struct fixture *f, const char *want)
{
    struct tree tree;
    read_tree(f, 0, &tree);
    assert_string_equal(buf_cstr(&tree.text), want);
    buf_fini(&tree.text);
}

static inline int64_t put(struct fixture *f, const char *below, const char *value)
{
    CLEANUP_FREE char *key = xasprintf("%s%s", f->tree, below);
    return sync_put(f->loop, f->etcd, key, slice_str(value));
}

static inline void del(struct fixture *f, const char *below)
{
    CLEANUP_FREE char *key = xasprintf("%s%s", f->tree, below);
    sync_del(f->loop, f->etcd, key);
}

#define TAIL  ",\"priority\":10,\"weight\":10,\"ttl\":30,\"targetstrip\":0}"
#define IP(a) "{\"host\":\"" a "\"" TAIL

/* ---- Objects to write ---- */

static inline void put_service(struct fixture *f, const char *name, const char *ip)
{
    CLEANUP_FREE char *spec = xasprintf("'clusterIP':'%s'", ip);
    inventory_upsert(f->inventory, service_from("default", name, spec));
}

static inline void put_service_with_port(struct fixture *f, const char *name, const char *ip,
                                         int port)
{
    CLEANUP_FREE char *spec = xasprintf(
        "'clusterIP':'%s','ports':[{'name':'http','port':%d,'protocol':'TCP'}]", ip, port);
    inventory_upsert(f->inventory, service_from("default", name, spec));
}

/* Only default/kubernetes, 10.0.0.1. */
static inline void list_nothing_else(struct fixture *f)
{
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "kubernetes", "10.0.0.1");
    inventory_list_end(f->inventory, KUBE_SERVICE);
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
}

#define KUBERNETES "svc/default/kubernetes/c88f1059 " IP("10.0.0.1") "\n"

/* ---- Waiting ---- */

static inline bool has_synced(const void *data)
{
    const struct fixture *f = data;
    return reconciler_has_synced(f->reconciler) &&
           (f->is_dry || reconciler_get_stats(f->reconciler).mirror.has_store_key);
}

static inline bool has_written(const void *data)
{
    const struct fixture *f = data;
    return reconciler_get_stats(f->reconciler).keys_written >= f->want;
}

static inline bool has_deleted(const void *data)
{
    const struct fixture *f = data;
    return reconciler_get_stats(f->reconciler).keys_deleted >= f->want;
}

static inline bool has_failed(const void *data)
{
    const struct fixture *f = data;
    return reconciler_get_stats(f->reconciler).failures >= f->want;
}

static inline bool has_external(const void *data)
{
    const struct fixture *f = data;
    return reconciler_get_stats(f->reconciler).others >= f->want;
}

static inline bool is_waiting(const void *data)
{
    return reconciler_get_stats(((const struct fixture *)data)->reconciler).waiting > 0;
}

static inline bool is_idle(const void *data)
{
    struct reconciler_stats stats =
        reconciler_get_stats(((const struct fixture *)data)->reconciler);
    return stats.waiting == 0 && stats.transactions == 0;
}

static inline bool is_drained(const void *data)
{
    return ((const struct fixture *)data)->is_drained;
}

static inline void on_drained(void *data)
{
    ((struct fixture *)data)->is_drained = true;
}

static inline void wait_synced(struct fixture *f)
{
    loop_until(f->loop, has_synced, f);
}

static inline void wait_drained(struct fixture *f)
{
    f->is_drained = false;
    reconciler_drain(f->reconciler, on_drained, f);
    loop_until(f->loop, is_drained, f);
}

static inline void assert_counts(const struct fixture *f, uint64_t written, uint64_t deleted)
{
    struct reconciler_stats stats = reconciler_get_stats(f->reconciler);
    assert_int_equal(stats.keys_written, written);
    assert_int_equal(stats.keys_deleted, deleted);
}

static inline void synced_with_kubernetes(struct fixture *f)
{
    start_reconciler(f);
    list_nothing_else(f);
    wait_synced(f);
}

/* kubernetes, and web with one port. */
static inline void list_web(struct fixture *f)
{
    inventory_list_begin(f->inventory, KUBE_SERVICE);
    put_service(f, "kubernetes", "10.0.0.1");
    put_service_with_port(f, "web", "10.0.0.9", 80);
    inventory_list_end(f->inventory, KUBE_SERVICE);
    inventory_list_begin(f->inventory, KUBE_ENDPOINTS);
    inventory_list_end(f->inventory, KUBE_ENDPOINTS);
}

/* Another writer of the same keys, on its own loop: ours learns later what it does. */
static inline void start_other(const struct fixture *f, struct fixture *ret_other)
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

static inline void end_other(struct fixture *other)
{
    etcd_free(other->etcd);
    ev_loop_destroy(other->loop);
}

/* A headless Service with so many addresses, each a key. */
static inline void put_large_service(struct fixture *f, const char *name, int net, int count)
{
    CLEANUP_BUF struct buf subset = buf_of(1 << 22);
    buf_append_str(&subset, "{'addresses':[");
    for (int i = 0; i < count; i++) {
        buf_printf(&subset, "%s{'ip':'10.%d.%d.%d'}", i ? "," : "", net, i / 256, i % 256);
    }
    buf_append_str(&subset, "]}");
    inventory_upsert(f->inventory, endpoints_from("busy", name, buf_cstr(&subset)));
    inventory_upsert(f->inventory, service_from("busy", name, "'clusterIP':'None'"));
}

#endif
