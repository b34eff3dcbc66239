#include "skydns/pages/live.h"

#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/json_text.h"
#include "common/base/outage.h"
#include "common/base/version.h"
#include "common/base/xalloc.h"
#include "common/dns/dns_names.h"
#include "common/etcd/etcd.h"
#include "skydns/external/cache_counts.h"
#include "skydns/external/zone_table.h"
#include "skydns/pages/metrics_parts_internal.h"
#include "skydns/pages/readiness_internal.h"
#include "skydns/pages/record_page_internal.h"
#include "skydns/pages/top_names_internal.h"
#include "skydns/publish/engine_config.h"
#include "skydns/publish/publisher.h"
#include "skydns/resolver/resolver.h"
#include "skydns/sync/store_keys.h"
#include "skydns/sync/store_sync.h"
#include "skydns/tap/query_tap.h"
#include "skydns/upstream/upstreams.h"

/* Page built from skydns/page. */
extern const struct page skydns_page;

/* ---- The most asked names ---- */

void top_names_add(struct top_names *top, const struct dname *name, uint16_t type)
{
    struct dname lower = *name;
    struct top_name *least = NULL;
    dname_lower(&lower);
    for (size_t i = 0; i < top->count; i++) {
        struct top_name *item = &top->items[i];
        if (item->type == type && dname_equal(&item->name, &lower)) {
            item->count++;
            return;
        }
        least = !least || item->count < least->count ? item : least;
    }
    if (top->count < TOP_NAMES_MAX) {
        least = &top->items[top->count++];
        least->count = 0;
    }
    least->name = lower;
    least->type = type;
    least->count++;
}

static int top_names_by_count(const void *a, const void *b)
{
    const struct top_name *const *left = a, *const *right = b;
    return ((*left)->count < (*right)->count) - ((*left)->count > (*right)->count);
}

void top_names_write(const struct top_names *top, struct buf *out)
{
    const struct top_name *sorted[TOP_NAMES_MAX];
    for (size_t i = 0; i < top->count; i++) {
        sorted[i] = &top->items[i];
    }
    qsort(sorted, top->count, sizeof(sorted[0]), top_names_by_count);
    json_text_open(out, "top", '[');
    for (size_t i = 0; i < top->count && i < TOP_NAMES_SHOWN; i++) {
        char type[DNS_TYPE_TEXT_MAX];
        json_text_open(out, NULL, '{');
        dname_json_field(out, "name", &sorted[i]->name);
        json_text_string_field(out, "type", dns_type_text(sorted[i]->type, type));
        json_text_number_field(out, "count", sorted[i]->count);
        buf_append_char(out, '}');
    }
    buf_append_char(out, ']');
}

/* ---- The page ---- */

struct live {
    const struct metrics_sources *sources;
    struct http_events *events;
    struct top_names top; /* since somebody looks */
};

static void take_samples(struct live *live)
{
    struct name_sample sample;
    while (live->sources->tap && name_samples_take(live->sources->tap->samples, &sample)) {
        top_names_add(&live->top, &sample.name, sample.type);
    }
}

static void live_build(void *data, struct buf *line)
{
    struct live *live = data;
    take_samples(live);
    live_figures_write(live->sources, &live->top, line);
}

static void on_watched(void *data, bool is_watched)
{
    struct live *live = data;
    take_samples(live); /* old ones */
    live->top = (struct top_names){0};
    if (live->sources->tap) {
        query_tap_set_sampling(live->sources->tap, is_watched);
    }
}

struct live *live_new(struct ev_loop *loop, const struct metrics_sources *sources)
{
    struct live *live = xcalloc(1, sizeof(*live));
    live->sources = sources;
    live->events = http_events_new(&(struct http_events_config){
        .loop = loop, .build = live_build, .watched = on_watched, .data = live});
    return live;
}

void live_free(struct live *live)
{
    if (live) {
        http_events_free(live->events);
        free(live);
    }
}

void live_routes(struct live *live, struct http_route routes[LIVE_PAGE_ROUTES])
{
    live_page_routes(&skydns_page, live->events, routes);
}

/* Limits a reason, which names a domain and its key for each of the domains; longer ones are
 * cut. */
enum { REASON_MAX = 4096 };

/* ---- The program ---- */

static void write_domains(const struct metrics_sources *all, struct buf *out)
{
    const struct store_keys *keys = store_sync_keys(all->sync);
    json_text_open(out, "domains", '[');
    for (size_t i = 0; i < store_keys_count(keys); i++) {
        dname_json_field(out, NULL, store_keys_domain(keys, i));
    }
    buf_append_char(out, ']');
}

static void live_write_program(const struct metrics_sources *all, struct buf *out)
{
    CLEANUP_BUF struct buf reason = buf_of(REASON_MAX);
    bool is_unready = readiness_explain(all, false, &reason);
    bool is_doubtful = is_unready || readiness_explain(all, true, &reason);
    json_text_string_field(out, "program", "skydns");
    json_text_string_field(out, "version", version_string);
    json_text_number_field(out, "time_ms", (uint64_t)clock_wall_ms());
    json_text_number_field(out, "uptime_s", (uint64_t)(clock_wall_s() - all->start_s));
    write_domains(all, out);
    json_text_flag_field(out, "ready", !is_unready);
    json_text_string_field(out, "reason", is_doubtful ? buf_cstr(&reason) : "");
}

/* ---- Queries ---- */

static void write_queries(const struct query_traffic *traffic, struct buf *out)
{
    const struct query_sums *all = &traffic->all;
    json_text_open(out, "queries", '{');
    for (size_t i = 0; i < ENGINE_TRANSPORTS; i++) {
        if (traffic->transports[i].is_shown) {
            json_text_number_field(out, traffic->transports[i].name,
                                   traffic->transports[i].sums.queries);
        }
    }
    buf_append_char(out, '}');
    json_text_open(out, "clients", '{');
    json_text_number_field(out, "limited", all->limited + all->limit_drops + all->namespace_drops);
    json_text_number_field(out, "refused", all->not_allowed);
    buf_append_char(out, '}');
    json_text_number_field(out, "dropped", all->dropped);
    json_text_open(out, "types", '{');
    for (size_t type = 0; type < QUERY_TYPES; type++) {
        json_text_number_field(out, query_type_name((enum query_type)type), all->types[type]);
    }
    buf_append_char(out, '}');
    json_text_open(out, "rcodes", '{');
    for (size_t rcode = 0; rcode < QUERY_RCODES; rcode++) {
        if (all->rcodes[rcode] > 0) {
            json_text_number_field(out, dns_rcode_name(rcode), all->rcodes[rcode]);
        }
    }
    buf_append_char(out, '}');
}

/* Writes how many responses took how long, since the start: up to each bound, then the longer
 * ones. */
static void write_took(const struct histogram *took, struct buf *out)
{
    json_text_open(out, "bounds_us", '[');
    for (size_t i = 0; i < query_reply_scale.bound_count; i++) {
        json_text_integer_field(out, NULL, query_reply_scale.bounds[i]);
    }
    buf_append_char(out, ']');
    json_text_open(out, "counts", '[');
    for (size_t i = 0; i <= query_reply_scale.bound_count; i++) {
        json_text_number_field(out, NULL, counter_get(&took->buckets[i]));
    }
    buf_append_str(out, "]}");
}

static void write_latency(const struct query_traffic *traffic, struct buf *out)
{
    json_text_open(out, "latency", '{');
    for (size_t i = 0; i < ENGINE_TRANSPORTS; i++) {
        if (traffic->transports[i].is_shown) {
            json_text_open(out, traffic->transports[i].name, '{');
            write_took(&traffic->transports[i].sums.took, out);
        }
    }
    buf_append_char(out, '}');
}

/* ---- Other domains ---- */

static void live_write_cache(const struct engine_config *config, struct buf *out)
{
    struct cache_counts counts = {0};
    if (!config->cache) {
        return;
    }
    const struct cache_figures now = cache_figures(config->cache);
    if (config->cache_tally) {
        cache_tally_sum(config->cache_tally, &counts);
    }
    json_text_open(out, "cache", '{');
    json_text_number_field(out, "entries", now.entries);
    json_text_number_field(out, "bytes", now.bytes);
    json_text_number_field(out, "limit", now.entries_max);
    json_text_number_field(out, "hits", counter_get(&counts.hits_positive));
    json_text_number_field(out, "negative_hits", counter_get(&counts.hits_negative));
    json_text_number_field(out, "stale_hits", counter_get(&counts.hits_stale));
    json_text_number_field(out, "failure_hits", counter_get(&counts.hits_failure));
    json_text_number_field(out, "misses", counter_get(&counts.misses));
    json_text_number_field(out, "prefetches", counter_get(&counts.prefetches));
    json_text_number_field(out, "evictions", counter_get(&counts.evictions));
    buf_append_char(out, '}');
}

/* Returns the upstream's counts since the start; NULL: none yet, or there was no room
 * (upstreams.h). */
static const struct upstream_figure *find_figure(const struct upstream_figures *figures,
                                                 const struct forward_zone *zone, size_t server)
{
    for (size_t i = 0; i < upstream_figures_count(figures); i++) {
        const struct upstream_figure *figure = &figures->items[i];
        if (nameserver_equal(&figure->server, &zone->servers[server]) &&
            dname_equal(&figure->zone, &zone->name)) {
            return figure;
        }
    }
    return NULL;
}

static void write_figure(const struct upstream_figure *figure, struct buf *out)
{
    json_text_number_field(out, "queries", counter_get(&figure->queries));
    json_text_number_field(out, "failures", counter_get(&figure->failures));
    buf_printf(out, ",\"seconds\":%.6f", (double)counter_get(&figure->took.sum) / 1e6);
}

static void write_nameserver(const struct metrics_sources *all, const struct forward_zone *zone,
                             size_t server, const char *state, struct buf *out)
{
    const struct upstream_figures *figures = resolver_counts(all->resolver)->upstreams;
    const struct upstream_figure *figure = find_figure(figures, zone, server);
    const struct nameserver *nameserver = &zone->servers[server];
    char address[NAMESERVER_TEXT_MAX];
    json_text_open(out, NULL, '{');
    dname_json_field(out, "zone", &zone->name);
    json_text_string_field(out, "address", nameserver_format(nameserver, address));
    json_text_string_field(out, "transport", nameserver_transport(nameserver));
    json_text_string_field(out, "state", state);
    if (figure) {
        write_figure(figure, out);
    }
    buf_append_char(out, '}');
}

/* Returns the upstream's state: never up before it was asked. */
static const char *state_of(const struct upstream_states *states, size_t server)
{
    return states->looping >> server & 1 ? "looping"
           : states->dead >> server & 1  ? "down"
           : states->asked >> server & 1 ? "up"
                                         : "unknown";
}

static void write_nameservers(const struct metrics_sources *all, const struct engine_config *config,
                              struct buf *out)
{
    size_t zone_count = 0, shown = 0, total = 0;
    const struct forward_zone *zones =
        config->zones_of_others ? zone_table_items(config->zones_of_others, &zone_count) : NULL;
    json_text_open(out, "nameservers", '[');
    for (size_t i = 0; zones && i < zone_count; i++) {
        struct upstream_states states = {0};
        (void)resolver_zone_state(all->resolver, zones[i].serial, &states); /* none: not asked */
        total += zones[i].server_count;
        for (size_t j = 0; j < zones[i].server_count && shown < LIVE_NAMESERVERS_MAX; j++) {
            shown++;
            write_nameserver(all, &zones[i], j, state_of(&states, j), out);
        }
    }
    buf_append_char(out, ']');
    if (total > shown) {
        json_text_number_field(out, "nameservers_more", total - shown);
    }
}

/* ---- Records ---- */

static void live_write_etcd(const struct metrics_sources *all,
                            const struct store_sync_counts *store, struct buf *out)
{
    const struct outage_source *followed = all->followed;
    int64_t away_ms = followed->is_away ? clock_monotonic_ms() - followed->since_ms : 0;
    int64_t lag = store->mirror.revision - store->revision;
    json_text_open(out, "etcd", '{');
    json_text_flag_field(out, "connected", !followed->is_away);
    json_text_integer_field(out, "revision", store->revision);
    json_text_integer_field(out, "lag", lag > 0 ? lag : 0);
    json_text_integer_field(out, "age_ms", etcd_silence_ms(all->etcd));
    json_text_string_field(out, "endpoint", etcd_endpoint(all->etcd));
    json_text_number_field(out, "away_s", (uint64_t)away_ms / 1000);
    json_text_string_field(out, "reason", outage_why(all->outage));
    buf_append_char(out, '}');
    json_text_number_field(out, "records", store->keys);
    json_text_number_field(out, "unusable", store->broken);
}

void live_figures_write(const struct metrics_sources *sources, const struct top_names *top,
                        struct buf *out)
{
    struct query_traffic traffic;
    const struct engine_config *config = publisher_newest_config(sources->publisher);
    const struct store_sync_counts store = store_sync_counts(sources->sync);
    metrics_sum_traffic(sources, &traffic);
    buf_append_char(out, '{');
    live_write_program(sources, out);
    write_queries(&traffic, out);
    write_latency(&traffic, out);
    live_write_cache(config, out);
    write_nameservers(sources, config, out);
    live_write_etcd(sources, &store, out);
    top_names_write(top, out);
    change_page_list(sources->sync, LIVE_CHANGES_MAX, out);
    buf_append_char(out, '}');
}
