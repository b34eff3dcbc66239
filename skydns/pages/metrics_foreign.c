#include "skydns/pages/metrics_foreign_internal.h"

#include "common/base/attributes.h"
#include "skydns/foreign/cache_counts.h"
#include "skydns/foreign/hosts_table.h"
#include "skydns/foreign/zone_table.h"

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

static size_t stub_zones(const struct zone_table *zones)
{
    size_t count = 1; /* the root, which is none */
    if (zones) {
        (void)zone_table_items(zones, &count);
    }
    return count - 1;
}

uint64_t metrics_foreign_write(struct metrics_page *page, const struct engine_config *config)
{
    struct cache_counts counts = {0};
    if (config->cache_tally) {
        cache_tally_sum(config->cache_tally, &counts);
    }
    write_cache(page, config->cache, &counts);
    metrics_gauge(page, "stub_zones", "Zones with nameservers of their own.",
                  (double)stub_zones(config->zones_of_others));
    metrics_gauge(page, "hosts_names", "Names in the files of -hosts.",
                  config->hosts ? (double)hosts_table_count(config->hosts) : 0);
    return counter_get(&counts.misses);
}
