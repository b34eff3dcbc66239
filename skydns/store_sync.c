#include "skydns/store_sync.h"

#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/etcd_mirror.h"
#include "common/log.h"
#include "common/outage.h"
#include "common/record_json.h"
#include "common/record_key.h"
#include "common/xalloc.h"
#include "skydns/lease.h"

/* Each publication frees what it can; this catches what a reader held back then, long after its
 * batch has ended. */
static const double reclaim_interval_s = 0.01;

/* Broken values come in crowds (one broken writer); ten lines a minute say it. */
enum { SKIPPED_LINES_A_MINUTE = 10 };

struct store_sync {
    struct ev_loop *loop;
    struct snapshot *snapshot;
    void (*on_ready)(void *data);
    void *data;
    struct outage_source *followed; /* NULL: nobody asks */

    struct etcd_mirror *mirror;
    struct store_writer *writer;
    struct lease_table *leases;
    ev_timer reclaim; /* runs while garbage waits */
    char *prefix;     /* "/skydns/" */
    char *config_key; /* "/skydns/config" */

    const struct store *published; /* the newest version; NULL before the first */
    bool is_ready;
    uint64_t skipped_before_read; /* `skipped` when the running full read began */
    struct store_sync_counts counts;
};

/* ---- Keys and values ---- */

static void skip(struct store_sync *sync, struct slice key, const char *reason)
{
    static struct log_limit limit = {.burst = SKIPPED_LINES_A_MINUTE};
    sync->counts.skipped++;
    if (log_limit_pass(&limit)) {
        log_warn("key skipped", LOG_SLICE("key", key), LOG_STR("reason", reason),
                 LOG_INT("suppressed", (int64_t)limit.suppressed));
    }
}

static bool is_config(const struct store_sync *sync, struct slice key)
{
    return slice_equal(key, slice_str(sync->config_key));
}

static void on_put(void *data, const struct etcd_kv *kv)
{
    struct store_sync *sync = data;
    struct dname name;
    struct record record;
    struct err err;
    if (is_config(sync, kv->key)) {
        log_debug("configuration in etcd is not read", LOG_SLICE("key", kv->key));
        return;
    }
    if (!record_key_to_name(slice_str(sync->prefix), kv->key, &name)) {
        skip(sync, kv->key, "no DNS name: an empty label, one over 63 bytes, or over 255 in all");
        return;
    }
    if (record_from_json(kv->value, &record, &err) < 0) {
        skip(sync, kv->key, err.msg);
        store_writer_del(sync->writer, &name);
        return;
    }
    record.ttl_s = lease_table_put(sync->leases, &name, kv->lease, kv->mod_revision, record.ttl_s);
    store_writer_put(sync->writer, &name, &record, kv->mod_revision);
}

static void on_del(void *data, struct slice key, int64_t revision)
{
    struct store_sync *sync = data;
    struct dname name;
    (void)revision; /* the commit brings it */
    if (!is_config(sync, key) && record_key_to_name(slice_str(sync->prefix), key, &name)) {
        store_writer_del(sync->writer, &name);
        lease_table_del(sync->leases, &name);
    }
}

/* ---- Versions ---- */

static void on_full_begin(void *data, const struct etcd_mirror_read *read)
{
    (void)read;
    struct store_sync *sync = data;
    lease_table_hold(sync->leases);
    store_writer_clear(sync->writer);
    sync->skipped_before_read = sync->counts.skipped;
}

static void on_reclaim(struct ev_loop *loop, ev_timer *timer, int events)
{
    const struct store_sync *sync = timer->data;
    (void)events;
    if (!snapshot_reclaim(sync->snapshot)) {
        ev_timer_stop(loop, timer);
    }
}

static void publish(struct store_sync *sync, const struct store *store,
                    struct store_garbage *garbage)
{
    snapshot_publish(sync->snapshot, store, garbage);
    sync->published = store;
    sync->counts.published++;
    sync->counts.published_revision = store_revision(store);
    if (snapshot_reclaim(sync->snapshot)) {
        ev_timer_again(sync->loop, &sync->reclaim);
    }
}

static void publish_build(struct store_sync *sync, int64_t revision)
{
    struct store_garbage *garbage;
    const struct store *store = store_writer_commit(sync->writer, revision, &garbage);
    if (store != sync->published) {
        publish(sync, store, garbage);
    }
}

static void on_ttls_changed(void *data)
{
    struct store_sync *sync = data;
    publish_build(sync, sync->counts.revision);
}

static void on_commit(void *data, int64_t revision, bool full)
{
    struct store_sync *sync = data;
    publish_build(sync, revision);
    if (full) {
        lease_table_release(sync->leases);
    }
    sync->counts.keys = store_writer_count(sync->writer);
    sync->counts.revision = revision;
    if (full) {
        sync->counts.reads++;
        log_info(sync->is_ready ? "records read again" : "records read",
                 LOG_INT("keys", (int64_t)sync->counts.keys),
                 LOG_INT("skipped", (int64_t)(sync->counts.skipped - sync->skipped_before_read)),
                 LOG_INT("revision", revision));
    }
    if (full && !sync->is_ready) {
        sync->is_ready = true;
        if (sync->on_ready) {
            sync->on_ready(sync->data);
        }
    }
}

static void on_state(void *data, const struct err *err)
{
    struct store_sync *sync = data;
    if (sync->followed && err) {
        outage_away(sync->followed, err);
    } else if (sync->followed) {
        outage_back(sync->followed);
    }
}

/* ---- Life ---- */

/* "/skydns/" from "skydns", "/skydns" or "/skydns/"; "/" from "". */
static char *key_prefix(const char *path)
{
    struct slice p = slice_str(path);
    while (p.len && p.ptr[0] == '/') {
        p = slice_of(p.ptr + 1, p.len - 1);
    }
    while (p.len && p.ptr[p.len - 1] == '/') {
        p.len--;
    }
    return xasprintf("/%.*s%s", (int)p.len, p.ptr, p.len ? "/" : "");
}

struct store_sync *store_sync_start(const struct store_sync_config *config)
{
    struct store_sync *sync = xcalloc(1, sizeof(*sync));
    sync->loop = config->loop;
    sync->snapshot = config->snapshot;
    sync->on_ready = config->on_ready;
    sync->data = config->data;
    sync->followed = config->followed;
    sync->prefix = key_prefix(config->path_prefix);
    sync->config_key = xasprintf("%sconfig", sync->prefix);
    sync->writer = store_writer_new();
    sync->leases = lease_table_new(&(struct lease_table_config){
        .loop = config->loop,
        .etcd = config->etcd,
        .writer = sync->writer,
        .default_ttl_s = config->default_ttl_s,
        .changed = on_ttls_changed,
        .data = sync,
    });
    ev_timer_init(&sync->reclaim, on_reclaim, 0., reclaim_interval_s);
    sync->reclaim.data = sync;

    struct etcd_mirror_config mirror = {
        .prefix = slice_str(sync->prefix),
        .full_begin = on_full_begin,
        .put = on_put,
        .del = on_del,
        .commit = on_commit,
        .state = on_state,
        .data = sync,
    };
    sync->mirror = etcd_mirror_start(config->etcd, &mirror);
    return sync;
}

void store_sync_stop(struct store_sync *sync)
{
    if (!sync) {
        return;
    }
    etcd_mirror_stop(sync->mirror);
    ev_timer_stop(sync->loop, &sync->reclaim);
    lease_table_free(sync->leases);
    store_writer_free(sync->writer);
    free(sync->prefix);
    free(sync->config_key);
    free(sync);
}

bool store_sync_is_ready(const struct store_sync *sync)
{
    return sync->is_ready;
}

struct store_sync_counts store_sync_counts(const struct store_sync *sync)
{
    return sync->counts;
}
