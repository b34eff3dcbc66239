/* Writes the metrics about external names: response cache, stub zones, hosts files. Main thread. */
#include "skydns/pages/metrics_parts_internal.h"

#include "common/base/attributes.h"
#include "skydns/external/cache_counts.h"
#include "skydns/external/hosts_table.h"
#include "skydns/external/zone_table.h"
#include "skydns/resolver/resolver.h"
#include "skydns/upstream/upstreams.h"

static void write_hits(struct metrics_page *page, const struct cache_counts *counts)
{
    const struct {
        const char *kind;
        const struct counter *count;
    } kinds[] = {
        {"positive", &counts->hits_positive},
        {"negative", &counts->hits_negative},
        {"failure", &counts->hits_failure},
        {"stale", &counts->hits_stale},
    };
    metrics_family(
        page, METRIC_COUNTER, "cache_hits_total",
        "Queries for external names answered from the response cache: with records (positive), "
        "with NXDOMAIN or NODATA (negative), with SERVFAIL because upstreams have just failed "
        "(failure), with a stale response because they fail (stale).");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        metrics_sample(page, METRIC_LABELS({"kind", kinds[i].kind}), counter_get(kinds[i].count));
    }
}

static void metrics_external_write_cache(struct metrics_page *page, const struct cache *cache,
                                         const struct cache_counts *counts)
{
    const struct cache_figures now = cache ? cache_figures(cache) : (struct cache_figures){0};
    metrics_gauge(page, "cache_entries", "Responses of upstreams in the response cache.",
                  (double)now.entries);
    metrics_gauge(page, "cache_bytes", "Memory they take.", (double)now.bytes);
    write_hits(page, counts);
    metrics_counter(page, "cache_misses_total",
                    "Queries for external names that the response cache could not answer.",
                    counter_get(&counts->misses));
    metrics_counter(page, "no_aaaa_answers_total",
                    "AAAA queries for external names answered by -no-aaaa.",
                    counter_get(&counts->no_aaaa));
    metrics_counter(
        page, "topology_answers_total",
        "Answers without addresses that are in other zones than the client, by -topology.",
        counter_get(&counts->near));
    metrics_counter(page, "dns64_answers_total",
                    "AAAA queries for external names answered with addresses made of IPv4 ones, or "
                    "without those of -dns64-exclude.",
                    counter_get(&counts->dns64));
    metrics_counter(page, "cache_prefetches_total",
                    "Cache entries refreshed before they expired, because they are in use.",
                    counter_get(&counts->prefetches));
    metrics_counter(page, "cache_evictions_total", "Cache entries evicted to make room for others.",
                    counter_get(&counts->evictions));
}

static unsigned servers_of(const struct forward_zone *zone,
                           const struct upstream_states *states UNUSED)
{
    return (unsigned)zone->server_count;
}

static unsigned dead_in(const struct forward_zone *zone UNUSED,
                        const struct upstream_states *states)
{
    return (unsigned)__builtin_popcount(states->dead | states->looping);
}

static unsigned plain_in(const struct forward_zone *zone, const struct upstream_states *states)
{
    const uint32_t now_s = upstreams_now_s();
    unsigned count = 0;
    for (size_t i = 0; i < zone->server_count; i++) {
        count += states->plain_until_s[i] > now_s;
    }
    return count;
}

static void write_zones(struct metrics_page *page, const struct resolver *resolver,
                        const struct forward_zone *zones, size_t count,
                        unsigned (*value_of)(const struct forward_zone *zone,
                                             const struct upstream_states *states))
{
    for (size_t i = 0; i < count; i++) {
        char text[DNAME_TEXT_MAX];
        struct upstream_states states = {0};
        (void)resolver_zone_state(resolver, zones[i].serial, &states); /* else: not asked yet */
        metrics_sample(page, METRIC_LABELS({"zone", dname_to_text(&zones[i].name, text)}),
                       value_of(&zones[i], &states));
    }
}

/* Writes at most ZONE_TABLE_MAX zones, and the root, which is no stub zone and comes first. */
static void write_upstreams_of_zones(struct metrics_page *page, const struct zone_table *table,
                                     const struct resolver *resolver)
{
    size_t count = 0;
    const struct forward_zone *zones = table ? zone_table_items(table, &count) : NULL;
    metrics_family(
        page, METRIC_GAUGE, "nameservers_without_edns",
        "Upstreams of a zone that get queries without EDNS, because they drop queries with it.");
    write_zones(page, resolver, zones, count, plain_in);
    metrics_gauge(page, "stub_zones", "Zones with upstreams of their own.",
                  count ? (double)(count - 1) : 0);
    if (count < 2) {
        return;
    }
    metrics_family(page, METRIC_GAUGE, "stub_nameservers",
                   "Upstreams of a stub zone that can be used.");
    write_zones(page, resolver, zones + 1, count - 1, servers_of);
    metrics_family(page, METRIC_GAUGE, "stub_nameservers_dead",
                   "Of these, those that do not respond or lead back here.");
    write_zones(page, resolver, zones + 1, count - 1, dead_in);
}

/* ---- Nameservers ---- */

/* Labels of an upstream; those of `others`, which has no address, are the rest's. */
struct upstream_labels {
    char zone[DNAME_TEXT_MAX], address[ADDR_TEXT_MAX];
    const char *transport;
};

static struct upstream_labels metrics_external_labels_of(const struct upstream_figure *figure)
{
    struct upstream_labels labels = {.zone = "others", .address = "others", .transport = "others"};
    if (figure->zone.len > 0) {
        (void)dname_to_text(&figure->zone, labels.zone);
        (void)addr_format(&figure->server.address, labels.address);
        labels.transport = nameserver_transport(&figure->server);
    }
    return labels;
}
#define UPSTREAM_LABELS(labels)                                           \
    METRIC_LABELS({"zone", (labels).zone}, {"address", (labels).address}, \
                  {"transport", (labels).transport})

static const struct upstream_figure *figure_at(const struct upstream_figures *figures, size_t i)
{
    return i < UPSTREAM_FIGURES_MAX ? &figures->items[i] : &figures->others;
}

/* Returns the number of figures; `others` counts only if there are some. */
static size_t figure_count(const struct upstream_figures *figures)
{
    return upstream_figures_count(figures) + (counter_get(&figures->others.queries) > 0);
}

static void write_upstream_counts(struct metrics_page *page, const struct upstream_figures *figures)
{
    size_t count = figure_count(figures);
    metrics_family(page, METRIC_COUNTER, "upstream_queries_total",
                   "Queries sent to each upstream, probes not included.");
    for (size_t i = 0; i < count; i++) {
        const struct upstream_figure *figure = figure_at(figures, i);
        const struct upstream_labels labels = metrics_external_labels_of(figure);
        metrics_sample(page, UPSTREAM_LABELS(labels), counter_get(&figure->queries));
    }
    metrics_family(page, METRIC_COUNTER, "upstream_failures_total",
                   "Of these, those without a usable response: none in time, SERVFAIL or REFUSED, "
                   "or the upstream could not be reached.");
    for (size_t i = 0; i < count; i++) {
        const struct upstream_figure *figure = figure_at(figures, i);
        const struct upstream_labels labels = metrics_external_labels_of(figure);
        metrics_sample(page, UPSTREAM_LABELS(labels), counter_get(&figure->failures));
    }
}

static void write_upstream_seconds(struct metrics_page *page,
                                   const struct upstream_figures *figures)
{
    size_t count = figure_count(figures);
    metrics_family(page, METRIC_HISTOGRAM, "upstream_seconds",
                   "Time until each upstream's response.");
    for (size_t i = 0; i < count; i++) {
        const struct upstream_figure *figure = figure_at(figures, i);
        const struct upstream_labels labels = metrics_external_labels_of(figure);
        metrics_histogram_sample(page, UPSTREAM_LABELS(labels), &histogram_durations,
                                 &figure->took);
    }
}

uint64_t metrics_external_write(struct metrics_page *page, const struct engine_config *config,
                                const struct resolver *resolver)
{
    struct cache_counts counts = {0};
    if (config->cache_tally) {
        cache_tally_sum(config->cache_tally, &counts);
    }
    metrics_external_write_cache(page, config->cache, &counts);
    write_upstreams_of_zones(page, config->zones_of_others, resolver);
    if (figure_count(resolver_counts(resolver)->upstreams) > 0) {
        write_upstream_counts(page, resolver_counts(resolver)->upstreams);
        write_upstream_seconds(page, resolver_counts(resolver)->upstreams);
    }
    metrics_gauge(page, "aliases", "Names of -alias.", (double)config->settings.alias_count);
    metrics_gauge(page, "hosts_names", "Names in the files of -hosts.",
                  config->hosts ? (double)hosts_table_count(config->hosts) : 0);
    metrics_gauge(page, "hosts_left_out", "Names in them for which -hosts-max has no room.",
                  config->hosts ? (double)hosts_table_left_out(config->hosts) : 0);
    return counter_get(&counts.misses);
}
