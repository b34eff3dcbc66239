#include "skydns/sync/store_sync.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/outage.h"
#include "common/base/xalloc.h"
#include "common/dns/record_json.h"
#include "common/dns/record_key.h"
#include "common/dns/record_scan.h"
#include "common/etcd/etcd_mirror.h"
#include "common/etcd/etcd_store_id.h"
#include "skydns/sync/broken.h"
#include "skydns/sync/domain_check_internal.h"
#include "skydns/sync/lease.h"
#include "skydns/sync/store_keys.h"
#include "skydns/sync/stub_keys_internal.h"

/* Each publication frees what it can; this timer frees what a reader still held then, long after
 * the reader's batch has ended. */
static const double reclaim_interval_s = 0.01;

/* The document as of the mirror's current, uncommitted sequence. */
struct config_value {
    struct buf text; /* one byte over the limit, so that an oversized one shows */
    bool is_there;
    bool is_read; /* in the current full read */
    bool is_changed;
};

/* Broken values come in thousands (one broken writer); ten lines a minute are enough. */
enum { SKIPPED_LINES_A_MINUTE = 10 };

struct store_sync {
    struct ev_loop *loop;
    struct publisher *publisher;
    void (*on_ready)(void *data);
    void *data;
    struct outage_source *followed; /* NULL: not reported */
    bool skips_wildcards;

    struct etcd_mirror *mirror;
    struct store_writer *writer;
    struct lease_table *leases;
    struct outage_source leases_asked; /* joined if `followed` is set */
    struct broken_table *broken;
    struct stub_keys *stubs; /* NULL: nobody asks for them */
    bool wants_stubs;
    struct store_keys *keys;
    struct dname main_domain; /* whose store key the mirror follows */
    bool requires_store_key;
    struct domain_check domain_check;
    void (*on_completeness)(void *data);
    struct config_value document;
    void (*on_config)(void *data, struct slice value);
    ev_timer reclaim; /* runs while garbage waits */
    ev_timer trim;    /* runs once after a full read, when its pages are freed */
    char *prefix;     /* "/skydns/" */
    char *config_key; /* "/skydns/config" */

    const struct store *published; /* the newest version; NULL before the first */
    bool is_ready;
    bool has_read;                /* the first full content is published */
    struct etcd_mirror_read read; /* the current one, without its reason */
    uint64_t skipped_before_read; /* `skipped` when it began */
    struct store_sync_counts counts;
};

/* ---- Keys and values ---- */

/* Each revision of a key is logged once, however often it is read. */
static void note_broken(struct store_sync *sync, const struct etcd_kv *kv, const char *message,
                        const char *reason)
{
    static struct log_limit limit = {.burst = SKIPPED_LINES_A_MINUTE};
    sync->counts.skipped++;
    if (broken_put(sync->broken, kv->key, kv->mod_revision, reason) && log_limit_pass(&limit)) {
        log_warn(message, LOG_SLICE("key", kv->key), LOG_STR("reason", reason),
                 LOG_INT("suppressed", (int64_t)limit.suppressed));
    }
}

static void skip(struct store_sync *sync, const struct etcd_kv *kv, const char *reason)
{
    note_broken(sync, kv, "key skipped", reason);
}

static void set_document(struct store_sync *sync, struct slice value)
{
    struct config_value *document = &sync->document;
    size_t limit = STORE_SYNC_CONFIG_MAX + 1;
    buf_clear(&document->text);
    buf_append(&document->text, value.ptr, value.len < limit ? value.len : limit);
    document->is_there = document->is_read = document->is_changed = true;
}

static void remove_document(struct store_sync *sync)
{
    sync->document.is_there = false;
    sync->document.is_changed = true;
}

static bool is_config(const struct store_sync *sync, struct slice key)
{
    return slice_equal(key, slice_str(sync->config_key));
}

static void put_record(struct store_sync *sync, const struct etcd_kv *kv, const struct dname *name,
                       struct record_view *record)
{
    record->ttl_s = lease_table_put(sync->leases, name, kv->lease, kv->mod_revision, record->ttl_s);
    if (store_writer_put_view(sync->writer, name, record, kv->mod_revision) == STORE_HOST_BAD) {
        note_broken(sync, kv, "cannot use a key's host",
                    "the host is neither an address nor a name; only its text can be answered");
    } else {
        broken_del(sync->broken, kv->key);
    }
}

static bool has_wildcard(struct slice key, const struct dname *name)
{
    struct dname_labels labels;
    if (!memchr(key.ptr, '*', key.len)) {
        return false;
    }
    dname_labels(name, &labels);
    for (unsigned i = 0; i < labels.count; i++) {
        if (slice_equal(dname_label(name, labels.offsets[i]), slice_str("*"))) {
            return true;
        }
    }
    return false;
}

static void note_for_stubs(struct store_sync *sync, const struct dname *name)
{
    if (sync->stubs) {
        stub_keys_note(sync->stubs, name);
    }
}

static void on_put(void *data, const struct etcd_kv *kv)
{
    struct store_sync *sync = data;
    struct dname name;
    struct record record;
    struct record_view view;
    struct err err;
    if (is_config(sync, kv->key)) {
        set_document(sync, kv->value);
        return;
    }
    if (!record_key_to_name(slice_str(sync->prefix), kv->key, &name)) {
        skip(sync, kv,
             "not a DNS name: an empty label, a label over 63 bytes, or over 255 bytes in all");
        return;
    }
    if (sync->skips_wildcards && has_wildcard(kv->key, &name)) {
        skip(sync, kv, "a label is `*`, and -schema=kubernetes has no wildcards");
        return;
    }
    if (record_scan(kv->value, &view)) {
        put_record(sync, kv, &name, &view);
    } else if (record_from_json(kv->value, &record, &err) == 0) {
        view = record_view_of(&record);
        put_record(sync, kv, &name, &view);
        record_fini(&record);
    } else {
        skip(sync, kv, err.msg);
        store_writer_del(sync->writer, &name);
        note_for_stubs(sync, &name);
    }
}

static void on_del(void *data, struct slice key, int64_t revision)
{
    struct store_sync *sync = data;
    struct dname name;
    (void)revision; /* on_commit receives it */
    broken_del(sync->broken, key);
    if (is_config(sync, key)) {
        remove_document(sync);
    } else if (record_key_to_name(slice_str(sync->prefix), key, &name)) {
        store_writer_del(sync->writer, &name);
        lease_table_del(sync->leases, &name);
        note_for_stubs(sync, &name);
    }
}

/* ---- Versions ---- */

static void on_full_begin(void *data, const struct etcd_mirror_read *read)
{
    struct store_sync *sync = data;
    lease_table_hold(sync->leases);
    if (read->cause == ETCD_MIRROR_OTHER_STORE) {
        store_keys_other_store(sync->keys);
    }
    if (!read->keeps_old) {
        store_writer_clear(sync->writer);
        broken_begin_read(sync->broken);
        sync->document.is_read = false;
    }
    if (read->reason[0]) {
        log_warn("etcd holds another store", LOG_STR("reason", read->reason),
                 LOG_STR("old_records",
                         read->keeps_old ? "kept until the new store is complete" : "replaced"));
    }
    sync->read = (struct etcd_mirror_read){.cause = read->cause, .keeps_old = read->keeps_old};
    sync->skipped_before_read = sync->counts.skipped;
}

static void on_reclaim(struct ev_loop *loop, ev_timer *timer, int events)
{
    const struct store_sync *sync = timer->data;
    (void)events;
    if (!publisher_reclaim(sync->publisher)) {
        ev_timer_stop(loop, timer);
    }
}

/* Returns the memory of the pages and the list of all nodes: up to a third of the store, once per
 * full read. */
static void on_trim(struct ev_loop *loop, ev_timer *timer, int events)
{
    (void)events;
    ev_timer_stop(loop, timer);
    xalloc_trim();
}

static void publish(struct store_sync *sync, const struct store *store,
                    struct store_garbage *garbage)
{
    publisher_publish(sync->publisher, store, garbage);
    sync->published = store;
    if (sync->stubs) {
        stub_keys_follow(sync->stubs, store);
    }
    sync->counts.published++;
    sync->counts.published_revision = store_revision(store);
    if (publisher_reclaim(sync->publisher)) {
        ev_timer_again(sync->loop, &sync->reclaim);
    }
}

static void publish_build(struct store_sync *sync, int64_t revision)
{
    struct store_garbage *garbage;
    const struct store *store = store_writer_commit(sync->writer, revision, &garbage);
    if (store != sync->published) {
        publish(sync, store, garbage);
    } else if (sync->stubs) {
        stub_keys_follow(sync->stubs, store); /* keys whose values are no records */
    }
}

static void on_ttls_changed(void *data)
{
    struct store_sync *sync = data;
    publish_build(sync, sync->counts.revision);
}

/* Removes what the full read did not bring. */
static void end_read(struct store_sync *sync)
{
    broken_end_read(sync->broken);
    if (!sync->document.is_read && sync->document.is_there) {
        remove_document(sync);
    }
}

static void tell_document(struct store_sync *sync)
{
    struct config_value *document = &sync->document;
    if (document->is_changed && sync->on_config) {
        sync->on_config(sync->data, document->is_there
                                        ? slice_of(buf_cstr(&document->text), document->text.len)
                                        : slice_of(NULL, 0));
    }
    document->is_changed = false;
}

/* ---- Completeness ---- */

static void become_ready(struct store_sync *sync)
{
    bool is_awaited = sync->requires_store_key && store_keys_is_any_missing(sync->keys);
    if (sync->has_read && !sync->is_ready && !is_awaited) {
        sync->is_ready = true;
        if (sync->on_ready) {
            sync->on_ready(sync->data);
        }
    }
}

static void settle(struct store_sync *sync, bool only_worse)
{
    bool is_holding_old = etcd_mirror_counts(sync->mirror).is_holding_old;
    if (store_keys_settle(sync->keys, is_holding_old, only_worse) && sync->on_completeness) {
        sync->on_completeness(sync->data);
    }
}

/* A key appeared or is gone. */
static void on_keys_changed(void *data)
{
    struct store_sync *sync = data;
    settle(sync, false);
    become_ready(sync);
}

static void on_key_appeared(void *data)
{
    struct store_sync *sync = data;
    etcd_mirror_reread(sync->mirror);
}

/* A key that was missing counts from the next full read on: the watch may lag behind it. */
static void on_store_key_seen(void *data, struct slice id, bool has_read)
{
    struct store_sync *sync = data;
    bool is_there = id.len > 0;
    if (is_there && !has_read && store_keys_is_missing(sync->keys, &sync->main_domain)) {
        etcd_mirror_reread(sync->mirror);
        return;
    }
    store_keys_tell(sync->keys, is_there);
    if (!has_read) {
        on_keys_changed(sync);
    }
}

static void log_read(const struct store_sync *sync)
{
    log_info(sync->has_read ? "records reread" : "records read",
             LOG_INT("keys", (int64_t)sync->counts.keys),
             LOG_INT("skipped", (int64_t)(sync->counts.skipped - sync->skipped_before_read)),
             LOG_INT("revision", sync->counts.revision),
             LOG_STR("cause", etcd_mirror_cause_text(sync->read.cause)));
}

/* The published version is a whole content. */
static void on_full_commit(struct store_sync *sync)
{
    lease_table_release(sync->leases);
    ev_timer_again(sync->loop, &sync->trim);
    sync->counts.reads++;
    log_read(sync);
    sync->has_read = true;
    store_keys_have_read(sync->keys);
    if (sync->stubs) {
        stub_keys_read_again(sync->stubs);
        stub_keys_follow(sync->stubs, sync->published);
    }
    settle(sync, false);
    domain_check(&sync->domain_check, sync->published, sync->keys);
    become_ready(sync);
}

static void on_commit(void *data, int64_t revision, bool full)
{
    struct store_sync *sync = data;
    if (full && !sync->read.keeps_old) {
        end_read(sync);
    }
    tell_document(sync);
    if (full) {
        settle(sync, true);
    }
    publish_build(sync, revision);
    sync->counts.keys = store_writer_count(sync->writer);
    sync->counts.revision = revision;
    if (full) {
        on_full_commit(sync);
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

static void on_store_key_state(void *data, const struct err *err)
{
    (void)data;
    if (err) {
        log_warn("cannot read the store key; detecting another etcd by single keys only",
                 LOG_STR("reason", err->msg));
    } else {
        log_info("store key can be read again");
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

static void start_keys(struct store_sync *sync, const struct store_sync_config *config)
{
    sync->main_domain = config->domains[0];
    sync->requires_store_key = config->requires_store_key;
    sync->on_completeness = config->on_completeness;
    sync->keys = store_keys_new(&(struct store_keys_config){
        .etcd = config->etcd,
        .main = sync->main_domain,
        .is_required = config->requires_store_key,
        .appeared = on_key_appeared,
        .changed = on_keys_changed,
        .data = sync,
    });
    store_keys_set_domains(sync->keys, config->domains, config->domain_count);
}

/* The domains in force, and whether their keys may name stub zones. */
static void set_stubs(struct store_sync *sync, const struct dname *domains, size_t count)
{
    if (sync->stubs) {
        stub_keys_set(sync->stubs, sync->wants_stubs, domains, count);
        if (sync->published) {
            stub_keys_follow(sync->stubs, sync->published);
        }
    }
}

static void start_stubs(struct store_sync *sync, const struct store_sync_config *config)
{
    sync->wants_stubs = config->wants_stubs;
    if (config->on_stubs) {
        sync->stubs = stub_keys_new(&(struct stub_keys_config){
            .prefix = slice_str(sync->prefix),
            .broken = sync->broken,
            .changed = config->on_stubs,
            .data = config->data,
        });
    }
    set_stubs(sync, config->domains, config->domain_count);
}

struct store_sync *store_sync_start(const struct store_sync_config *config)
{
    struct store_sync *sync = xcalloc(1, sizeof(*sync));
    sync->loop = config->loop;
    sync->publisher = config->publisher;
    sync->on_ready = config->on_ready;
    sync->data = config->data;
    sync->followed = config->followed;
    sync->skips_wildcards = config->skips_wildcards;
    sync->prefix = key_prefix(config->path_prefix);
    sync->config_key = xasprintf("%sconfig", sync->prefix);
    sync->on_config = config->on_config;
    sync->broken = broken_new();
    start_stubs(sync, config);
    buf_init(&sync->document.text, STORE_SYNC_CONFIG_MAX + 1);
    sync->document.is_changed = true; /* the first full read reports it in any case */
    sync->writer = store_writer_new();
    if (sync->followed) {
        sync->leases_asked.away_line = "cannot query leases, their records' TTLs count down";
        sync->leases_asked.back_line = "leases can be queried again";
        outage_join(sync->followed->outage, &sync->leases_asked, false);
    }
    sync->leases = lease_table_new(&(struct lease_table_config){
        .asking = sync->followed ? &sync->leases_asked : NULL,
        .loop = config->loop,
        .etcd = config->etcd,
        .writer = sync->writer,
        .default_ttl_s = config->default_ttl_s,
        .changed = on_ttls_changed,
        .data = sync,
    });
    ev_timer_init(&sync->reclaim, on_reclaim, 0., reclaim_interval_s);
    sync->reclaim.data = sync;
    ev_timer_init(&sync->trim, on_trim, 0., reclaim_interval_s);

    char domain[DNAME_TEXT_MAX];
    CLEANUP_FREE char *store_key =
        etcd_store_key(slice_str(dname_to_text(&config->domains[0], domain)));
    start_keys(sync, config);
    struct etcd_mirror_config mirror = {
        .prefix = slice_str(sync->prefix),
        .store_key = slice_str(store_key),
        .keeps_old = true,
        .stale_max_ms = config->stale_max_ms,
        .full_begin = on_full_begin,
        .put = on_put,
        .del = on_del,
        .commit = on_commit,
        .state = on_state,
        .store_key_state = on_store_key_state,
        .store_key_seen = on_store_key_seen,
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
    store_keys_free(sync->keys);
    ev_timer_stop(sync->loop, &sync->reclaim);
    ev_timer_stop(sync->loop, &sync->trim);
    lease_table_free(sync->leases);
    if (sync->followed) {
        outage_leave(&sync->leases_asked);
    }
    stub_keys_free(sync->stubs);
    broken_free(sync->broken);
    buf_fini(&sync->document.text);
    store_writer_free(sync->writer);
    free(sync->prefix);
    free(sync->config_key);
    free(sync);
}

bool store_sync_is_ready(const struct store_sync *sync)
{
    return sync->is_ready;
}

bool store_sync_is_incomplete(const struct store_sync *sync, const struct dname *domain)
{
    return store_keys_is_incomplete(sync->keys, domain);
}

const struct store_keys *store_sync_keys(const struct store_sync *sync)
{
    return sync->keys;
}

void store_sync_set_domains(struct store_sync *sync, const struct dname *domains, size_t count,
                            bool requires_store_key)
{
    sync->requires_store_key = requires_store_key;
    store_keys_require(sync->keys, requires_store_key);
    store_keys_set_domains(sync->keys, domains, count);
    on_keys_changed(sync);
    set_stubs(sync, domains, count);
}

void store_sync_set_stubs(struct store_sync *sync, bool wants_stubs)
{
    struct dname domains[ENGINE_ZONES_MAX];
    size_t count = store_keys_count(sync->keys);
    for (size_t i = 0; i < count; i++) {
        domains[i] = *store_keys_domain(sync->keys, i);
    }
    sync->wants_stubs = wants_stubs;
    set_stubs(sync, domains, count);
}

struct store_sync_counts store_sync_counts(const struct store_sync *sync)
{
    struct store_sync_counts counts = sync->counts;
    counts.broken = broken_count(sync->broken);
    counts.mirror = etcd_mirror_counts(sync->mirror);
    counts.leases = lease_table_counts(sync->leases);
    return counts;
}

void store_sync_set_default_ttl(struct store_sync *sync, uint32_t ttl_s)
{
    lease_table_set_default_ttl(sync->leases, ttl_s);
}

const struct store *store_sync_store(const struct store_sync *sync)
{
    return sync->published;
}

struct slice store_sync_prefix(const struct store_sync *sync)
{
    return slice_str(sync->prefix);
}

const struct broken_table *store_sync_broken(const struct store_sync *sync)
{
    return sync->broken;
}

bool store_sync_can_start(const struct snapshot_content *content, struct err *err)
{
    return content && err;
}

bool store_sync_is_from_snapshot(const struct store_sync *sync, int64_t *ret_heard_ms)
{
    *ret_heard_ms = 0;
    return sync && false;
}

bool store_sync_save(const struct store_sync *sync, struct snapshot_image *image)
{
    return sync && image && false;
}

uint64_t store_sync_changes(const struct store_sync *sync)
{
    return sync->counts.published;
}

int64_t store_sync_heard_ms(const struct store_sync *sync)
{
    (void)sync;
    return 0;
}
