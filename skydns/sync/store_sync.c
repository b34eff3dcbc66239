#include "skydns/sync/store_sync.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/log.h"
#include "common/base/outage.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_mirror.h"
#include "common/etcd/etcd_store_id.h"
#include "skydns/records/store.h"
#include "skydns/snapshot/snapshot.h"
#include "skydns/sync/store_sync_internal.h"

/* Interval of the timer that frees garbage. Each publication frees what it can; the timer frees the
 * rest, long after the last reader's batch has ended. */
static const double reclaim_interval_s = 0.01;

static void store_sync_on_reclaim(struct ev_loop *loop, ev_timer *timer, int events UNUSED)
{
    const struct store_sync *sync = timer->data;
    if (!publisher_reclaim(sync->config.publisher)) {
        ev_timer_stop(loop, timer);
    }
}

/* Precision of the loop's clock. */
static const double seen_interval_s = 0.001;

static void store_sync_on_seen(struct ev_loop *loop UNUSED, ev_timer *timer, int events UNUSED)
{
    store_sync_see(timer->data);
}

/* Frees the memory of pages and of the list of all nodes after a full read: up to a third of the
 * record store. After a start, frees what reading a snapshot took, once etcd has confirmed it: not
 * while the first clients wait. */
static void on_trim(struct ev_loop *loop, ev_timer *timer, int events UNUSED)
{
    ev_timer_stop(loop, timer);
    xalloc_trim();
}

/* Returns "/skydns/" for "skydns", "/skydns" or "/skydns/"; "/" for "". */
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

/* Sets the domains in force, and whether their keys may name stub zones. */
static void set_stubs(struct store_sync *sync, const struct dname *domains, size_t count)
{
    if (sync->stubs) {
        stub_keys_set(sync->stubs, sync->config.wants_stubs, domains, count);
        if (sync->published) {
            stub_keys_follow(sync->stubs, sync->published);
        }
    }
}

static void start_stubs(struct store_sync *sync)
{
    const struct store_sync_config *config = &sync->config;
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

/* Sets the domains in force, and whether their pods identify clients. */
static void set_clients(struct store_sync *sync, const struct dname *domains, size_t count)
{
    clients_set_optional(sync->clients, sync->config.wants_clients == CLIENTS_FOR_METRICS);
    clients_set_topology(sync->clients, sync->config.wants_topology);
    clients_set(sync->clients, sync->config.wants_clients != CLIENTS_UNKNOWN, domains, count);
}

static struct slice saved_section(const struct store_sync_config *config, bool is_loaded,
                                  enum snapshot_section which)
{
    return is_loaded ? buf_slice(&config->start->sections[which]) : slice_of(NULL, 0);
}

static void start_clients(struct store_sync *sync, bool is_loaded)
{
    const struct store_sync_config *config = &sync->config;
    sync->clients = clients_new(&(struct clients_config){
        .loop = config->loop,
        .etcd = config->etcd,
        .publisher = config->publisher,
        .broken = sync->broken,
        .stale_max_ms = config->stale_max_ms,
        .saved = saved_section(config, is_loaded, SNAPSHOT_CLIENTS),
        .saved_records = saved_section(config, is_loaded, SNAPSHOT_CLIENT_RECORDS),
        .saved_topology = saved_section(config, is_loaded, SNAPSHOT_TOPOLOGY),
        .is_from_snapshot = is_loaded,
        .on_visible = config->on_visible,
        .on_visible_data = config->data,
        .known = store_sync_on_clients_known,
        .changed = store_sync_on_clients_changed,
        .data = sync,
    });
    set_clients(sync, config->domains, config->domain_count);
}

/* Tells the index the settings and the domains in force, in which no name has an override. */
static void set_overrides(struct store_sync *sync, const struct dname *domains, size_t count)
{
    override_index_set(sync->overrides, &(struct override_index_rule){
                                            .is_on = sync->config.wants_overrides,
                                            .ttl_s = sync->config.override_ttl_s,
                                            .domain_count = count,
                                            .domains = domains,
                                        });
    const bool is_next = sync->is_committing || sync->is_reading; /* with what is read */
    if (override_index_is_due(sync->overrides) && sync->published && !is_next) {
        store_sync_publish(sync, sync->counts.revision);
    }
}

/* ---- The parts ---- */

/* Opens the parts that a snapshot fills, around its records or around none. */
static void open_parts(struct store_sync *sync, struct store_writer *writer)
{
    const struct store_sync_config *config = &sync->config;
    sync->writer = writer;
    sync->broken = broken_new();
    config_value_init(&sync->document);
    sync->leases = lease_table_new(&(struct lease_table_config){
        .asking = sync->config.followed ? &sync->leases_asked : NULL,
        .loop = config->loop,
        .etcd = config->etcd,
        .writer = sync->writer,
        .default_ttl_s = config->default_ttl_s,
        .changed = store_sync_on_ttls_changed,
        .data = sync,
    });
    sync->keys = store_keys_new(&(struct store_keys_config){
        .etcd = config->etcd,
        .main = sync->main_domain,
        .is_required = config->requires_store_key,
        .sync = sync,
    });
}

static void close_parts(struct store_sync *sync)
{
    store_keys_free(sync->keys);
    lease_table_free(sync->leases);
    broken_free(sync->broken);
    config_value_fini(&sync->document);
    store_writer_free(sync->writer);
}

/* Opens the parts of a snapshot. Returns false if there is none, or it makes no sense. */
static bool open_saved_parts(struct store_sync *sync)
{
    if (!sync->config.start) {
        return false;
    }
    open_parts(sync, STEAL(sync->config.start->writer));
    if (store_sync_load(sync, sync->config.start)) {
        return true;
    }
    close_parts(sync);
    return false;
}

/* Joins the outage before anything else is set up: lease queries may fail at once. */
static void store_sync_join_outage(struct store_sync *sync)
{
    if (sync->config.followed) {
        sync->leases_asked.away_line = "cannot query leases, their records' TTLs count down";
        sync->leases_asked.back_line = "leases can be queried again";
        outage_join(sync->config.followed->outage, &sync->leases_asked, false);
    }
}

static void store_sync_start_mirror(struct store_sync *sync, struct slice saved)
{
    char domain[DNAME_TEXT_MAX];
    CLEANUP_FREE char *store_key =
        etcd_store_key(slice_str(dname_to_text(&sync->main_domain, domain)));
    struct etcd_mirror_config mirror = {
        .prefix = slice_str(sync->prefix),
        .store_key = slice_str(store_key),
        .keeps_old = true,
        .stale_max_ms = sync->config.stale_max_ms,
        .saved = saved,
        .full_begin = store_sync_on_full_begin,
        .put = store_sync_on_put,
        .del = store_sync_on_del,
        .commit = store_sync_on_commit,
        .state = store_sync_on_state,
        .caught_up = store_sync_on_caught_up,
        .store_key_state = store_sync_on_store_key_state,
        .store_key_seen = store_sync_on_store_key_seen,
        .data = sync,
    };
    sync->mirror = etcd_mirror_start(sync->config.etcd, &mirror);
}

/* ---- Life ---- */

static struct store_sync *sync_new(const struct store_sync_config *config)
{
    struct store_sync *sync = xcalloc(1, sizeof(*sync));
    sync->config = *config;
    sync->prefix = key_prefix(config->path_prefix);
    sync->config_key = xasprintf("%sconfig", sync->prefix);
    sync->main_domain = config->domains[0];
    sync->gone = config->wants_gone ? gone_names_new() : NULL;
    sync->marks = config->wants_marks ? revision_marks_new() : NULL;
    buf_init(&sync->seen_id, SEEN_ID_MAX);
    timer_init_every(&sync->reclaim, store_sync_on_reclaim, sync, reclaim_interval_s);
    timer_init_every(&sync->seen, store_sync_on_seen, sync, seen_interval_s);
    ev_timer_init(&sync->trim, on_trim, 0., reclaim_interval_s);
    return sync;
}

struct store_sync *store_sync_start(const struct store_sync_config *config)
{
    struct store_sync *sync = sync_new(config);
    store_sync_join_outage(sync);
    bool is_loaded = open_saved_parts(sync);
    if (!is_loaded) {
        open_parts(sync, store_writer_new());
    }
    store_keys_set_domains(sync->keys, config->domains, config->domain_count);
    start_stubs(sync);
    sync->overrides = override_index_new();
    set_overrides(sync, config->domains, config->domain_count);
    start_clients(sync, is_loaded);
    store_sync_start_mirror(sync, saved_section(config, is_loaded, SNAPSHOT_MIRROR));
    if (is_loaded) {
        store_sync_begin_loaded(sync, &config->start->header);
    }
    sync->config.domains = NULL; /* borrowed, as the snapshot */
    sync->config.start = NULL;
    return sync;
}

void store_sync_stop(struct store_sync *sync)
{
    if (!sync) {
        return;
    }
    etcd_mirror_stop(sync->mirror);
    ev_timer_stop(sync->config.loop, &sync->reclaim);
    ev_timer_stop(sync->config.loop, &sync->trim);
    ev_timer_stop(sync->config.loop, &sync->seen);
    stub_keys_free(sync->stubs);
    clients_free(sync->clients);
    override_index_free(sync->overrides);
    close_parts(sync);
    if (sync->config.followed) {
        outage_leave(&sync->leases_asked);
    }
    buf_fini(&sync->seen_id);
    gone_names_free(sync->gone);
    revision_marks_free(sync->marks);
    free(sync->prefix);
    free(sync->config_key);
    free(sync);
}

/* ---- For others ---- */

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
    sync->config.requires_store_key = requires_store_key;
    store_keys_require(sync->keys, requires_store_key);
    store_keys_set_domains(sync->keys, domains, count);
    store_sync_keys_changed(sync);
    set_stubs(sync, domains, count);
    set_clients(sync, domains, count);
    set_overrides(sync, domains, count);
}

size_t store_sync_domains(const struct store_sync *sync, struct dname ret_domains[ENGINE_ZONES_MAX])
{
    size_t count = store_keys_count(sync->keys);
    for (size_t i = 0; i < count; i++) {
        ret_domains[i] = *store_keys_domain(sync->keys, i);
    }
    return count;
}

void store_sync_set_stubs(struct store_sync *sync, bool wants_stubs)
{
    struct dname domains[ENGINE_ZONES_MAX];
    sync->config.wants_stubs = wants_stubs;
    set_stubs(sync, domains, store_sync_domains(sync, domains));
}

void store_sync_set_clients(struct store_sync *sync, enum client_want wants, bool wants_topology)
{
    struct dname domains[ENGINE_ZONES_MAX];
    sync->config.wants_clients = wants;
    sync->config.wants_topology = wants_topology;
    set_clients(sync, domains, store_sync_domains(sync, domains));
    store_sync_become_ready(sync); /* it may wait for them no more */
}

void store_sync_set_overrides(struct store_sync *sync, bool wants_overrides, uint32_t ttl_s)
{
    struct dname domains[ENGINE_ZONES_MAX];
    sync->config.wants_overrides = wants_overrides;
    sync->config.override_ttl_s = ttl_s;
    set_overrides(sync, domains, store_sync_domains(sync, domains));
}

bool store_sync_knows_clients(const struct store_sync *sync, const struct dname *domain)
{
    return clients_is_known(sync->clients, domain);
}

bool store_sync_awaits_clients(const struct store_sync *sync)
{
    return sync->config.wants_clients == CLIENTS_FOR_ANSWERS && !clients_are_settled(sync->clients);
}

bool store_sync_explain_client_keys(const struct store_sync *sync, struct buf *out)
{
    return sync->config.wants_clients == CLIENTS_FOR_ANSWERS &&
           clients_explain_trouble(sync->clients, out);
}

const struct client_index *store_sync_clients(const struct store_sync *sync)
{
    return clients_index(sync->clients);
}

struct store_sync_counts store_sync_counts(const struct store_sync *sync)
{
    struct store_sync_counts counts = sync->counts;
    counts.broken = broken_count(sync->broken);
    counts.overrides = override_index_count(sync->overrides);
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

const struct gone_names *store_sync_gone(const struct store_sync *sync)
{
    return sync->gone;
}

const struct revision_marks *store_sync_marks(const struct store_sync *sync)
{
    return sync->marks;
}

uint64_t store_sync_data_set(const struct store_sync *sync)
{
    return sync->data_set;
}

const struct recent_changes *store_sync_recent(const struct store_sync *sync)
{
    return &sync->recent;
}

void store_sync_set_zones(struct store_sync *sync, const struct dname *apexes, size_t count)
{
    zone_changes_set(&sync->zones, apexes, count, sync->counts.revision);
}

int64_t store_sync_zone_revision(const struct store_sync *sync, const struct dname *apex)
{
    return zone_changes_of(&sync->zones, apex);
}

void store_sync_refine_zone(struct store_sync *sync, const struct dname *apex, int64_t revision)
{
    zone_changes_refine(&sync->zones, apex, revision);
}

bool store_sync_is_caught_up(const struct store_sync *sync)
{
    return etcd_mirror_counts(sync->mirror).is_caught_up && !sync->is_reading;
}
