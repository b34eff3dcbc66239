#include "skydns/pages/metrics_foreign_internal.h"

#include "common/base/attributes.h"
#include "skydns/foreign/cache_counts.h"
#include "skydns/foreign/hosts_table.h"
#include "skydns/foreign/zone_table.h"
#include "skydns/serve/resolver.h"

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
    metrics_family(page, METRIC_COUNTER, "cache_hits_total",
                   "Questions about other domains answered from the cache: with records "
                   "(positive), with a denial (negative), with SERVFAIL because nameservers have "
                   "just failed (failure), with an expired reply because they fail (stale).");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        metrics_sample(page, METRIC_LABELS({"kind", kinds[i].kind}), counter_get(kinds[i].count));
    }
}

static void write_cache(struct metrics_page *page, const struct cache *cache,
                        const struct cache_counts *counts)
{
    const struct cache_figures now = cache ? cache_figures(cache) : (struct cache_figures){0};
    metrics_gauge(page, "cache_entries", "Nameservers' replies kept.", (double)now.entries);
    metrics_gauge(page, "cache_bytes", "Memory they take.", (double)now.bytes);
    write_hits(page, counts);
    metrics_counter(page, "cache_misses_total",
                    "Questions about other domains that the cache could not answer.",
                    counter_get(&counts->misses));
    metrics_counter(page, "cache_prefetches_total",
                    "Kept replies asked for again before they expired, because they are in use.",
                    counter_get(&counts->prefetches));
    metrics_counter(page, "cache_evictions_total", "Kept replies dropped to make room for others.",
                    counter_get(&counts->evictions));
}

static unsigned dead_in(const struct foreign_zone *zone, const struct resolver *resolver)
{
    struct upstream_states states = {0}; /* not asked yet */
    (void)resolver_zone_state(resolver, zone->serial, &states);
    return (unsigned)__builtin_popcount(states.dead | states.looping);
}

/* At most ZONE_TABLE_MAX. */
static void write_stubs(struct metrics_page *page, const struct zone_table *table,
                        const struct resolver *resolver)
{
    char text[DNAME_TEXT_MAX];
    size_t count = 0;
    const struct foreign_zone *zones = table ? zone_table_items(table, &count) : NULL;
    metrics_gauge(page, "stub_zones", "Zones with nameservers of their own.",
                  count ? (double)(count - 1) : 0); /* without the root */
    if (count < 2) {
        return;
    }
    metrics_family(page, METRIC_GAUGE, "stub_nameservers",
                   "Nameservers of a stub zone that can be used.");
    for (size_t i = 1; i < count; i++) {
        metrics_sample(page, METRIC_LABELS({"zone", dname_to_text(&zones[i].name, text)}),
                       zones[i].server_count);
    }
    metrics_family(page, METRIC_GAUGE, "stub_nameservers_dead",
                   "Of these, those that do not answer or lead back here.");
    for (size_t i = 1; i < count; i++) {
        metrics_sample(page, METRIC_LABELS({"zone", dname_to_text(&zones[i].name, text)}),
                       dead_in(&zones[i], resolver));
    }
}

uint64_t metrics_foreign_write(struct metrics_page *page, const struct engine_config *config,
                               const struct resolver *resolver)
{
    struct cache_counts counts = {0};
    if (config->cache_tally) {
        cache_tally_sum(config->cache_tally, &counts);
    }
    write_cache(page, config->cache, &counts);
    write_stubs(page, config->zones_of_others, resolver);
    metrics_gauge(page, "hosts_names", "Names in the files of -hosts.",
                  config->hosts ? (double)hosts_table_count(config->hosts) : 0);
    return counter_get(&counts.misses);
}
