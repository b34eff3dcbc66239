#include "skydns/tap/query_counts.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "skydns/wire/response.h"

const struct histogram_scale query_reply_scale = {
    .bound_count = 16,
    .bounds = {50, 100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200, 102400, 204800,
               409600, 819200, 1638400},
    .page_unit = 1e6,
    .sum_decimals = 6,
};

const uint8_t query_types[QUERY_TYPES_SMALL] = {
#define QUERY_TYPE_PLACE(name) [DNS_TYPE_##name] = QUERY_TYPE_##name,
    QUERY_COUNTED_TYPES(QUERY_TYPE_PLACE)
#undef QUERY_TYPE_PLACE
};

const char *query_type_name(enum query_type type)
{
    static const char *const names[QUERY_TYPES] = {[QUERY_TYPE_OTHER] = "other",
#define QUERY_TYPE_TEXT(name) [QUERY_TYPE_##name] = #name,
                                                   QUERY_COUNTED_TYPES(QUERY_TYPE_TEXT)
#undef QUERY_TYPE_TEXT
    };
    return names[type];
}

void query_counts_init(struct query_counts *counts, bool want_skydns)
{
    *counts = (struct query_counts){.skydns = want_skydns ? skydns_counts_new() : NULL};
}

void query_counts_fini(struct query_counts *counts)
{
    free(counts->skydns);
    counts->skydns = NULL;
}

void query_sums_add(struct query_sums *sums, const struct query_counts *counts)
{
    struct query_sums now = {
        .answered = counter_get(&counts->answered),
        .deferred = counter_get(&counts->deferred),
        .dropped = counter_get(&counts->dropped),
        .refused = counter_get(&counts->refused),
        .limited = counter_get(&counts->limited),
        .limit_drops = counter_get(&counts->limit_drops),
        .namespace_drops = counter_get(&counts->namespace_drops),
    };
    sums->queries += now.answered + now.deferred + now.dropped + now.refused + now.limited +
                     now.limit_drops + now.namespace_drops;
    sums->answered += now.answered;
    sums->deferred += now.deferred;
    sums->dropped += now.dropped;
    sums->refused += now.refused;
    sums->limited += now.limited;
    sums->limit_drops += now.limit_drops;
    sums->namespace_drops += now.namespace_drops;
    sums->namespace_delays += counter_get(&counts->namespace_delays);
    sums->limit_exempt += counter_get(&counts->limit_exempt);
    sums->not_allowed += counter_get(&counts->not_allowed);
    sums->unsent += counter_get(&counts->unsent);
    sums->truncated += counter_get(&counts->truncated);
    sums->log_dropped += counter_get(&counts->log_dropped);
    for (size_t i = 0; i < QUERY_RCODES; i++) {
        sums->rcodes[i] += counter_get(&counts->rcodes[i]);
    }
    for (size_t i = 0; i < QUERY_TYPES; i++) {
        sums->types[i] += counter_get(&counts->types[i]);
    }
    counters_add(&sums->took, &counts->took, sizeof(sums->took));
    if (counts->skydns) {
        counters_add(&sums->skydns, &counts->skydns->sums, sizeof(sums->skydns));
    }
}

/* ---- SkyDNS's own metrics ---- */

static const struct histogram_scale duration_scale = {
    .bound_count = 13,
    .bounds = {1000, 3000, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000,
               5000000, 10000000},
    .page_unit = 1e6,
    .sum_decimals = 6,
};

static const struct histogram_scale size_scale = {
    .bound_count = 21,
    .bounds = {0,     512,   1024,  1500,  2048,  4096,  8192,  12288, 16384, 20480, 24576,
               28672, 32768, 36864, 40960, 45056, 49152, 53248, 57344, 61440, 65536},
    .page_unit = 1,
};

static const char *const system_names[SKYDNS_SYSTEMS] = {"auth", "cache", "recursive", "reverse"};
static const char *const cause_names[SKYDNS_CAUSES] = {"nxdomain", "nodata", "truncated", "refused",
                                                       "servfail"};

struct skydns_counts *skydns_counts_new(void)
{
    return xcalloc_aligned(COUNTERS_ALIGN, sizeof(struct skydns_counts));
}

void skydns_counts_begin(struct skydns_counts *counts, int64_t begun_us, bool is_from_forward)
{
    counts->begun_us = begun_us;
    counts->is_from_forward = is_from_forward;
}

static bool is_reverse_pointer(const struct response *response)
{
    static const struct dname arpa = {.len = 6, .wire = "\4arpa"};
    struct dname name = {.len = response->name_len};
    if (name.len == 0 || response_type(response) != DNS_TYPE_PTR) {
        return false;
    }
    memcpy(name.wire, response_name(response), name.len);
    return dname_is_within(&name, &arpa);
}

/* Returns which system answered. Recursive: an upstream's response, or our SERVFAIL without AA, for
 * an external name. Cache: what was known of such a name, from an upstream or a hosts file. */
static enum skydns_system system_of(const struct skydns_counts *counts,
                                    const struct response *response)
{
    const bool is_authoritative = response_is_authoritative(response);
    const unsigned rcode = response_low_rcode(response);
    if (counts->is_from_forward || (!is_authoritative && rcode == DNS_RCODE_SERVFAIL)) {
        return SKYDNS_RECURSIVE;
    }
    if (!is_authoritative && response_offers_recursion(response) &&
        (rcode == DNS_RCODE_NOERROR || rcode == DNS_RCODE_NXDOMAIN)) {
        return SKYDNS_CACHE;
    }
    return is_reverse_pointer(response) ? SKYDNS_REVERSE : SKYDNS_AUTH;
}

static void count_cause(struct counter causes[SKYDNS_CAUSES], const struct response *response)
{
    enum skydns_cause cause = SKYDNS_CAUSES;
    switch (response_low_rcode(response)) {
    case DNS_RCODE_NXDOMAIN:
        cause = SKYDNS_NXDOMAIN;
        break;
    case DNS_RCODE_REFUSED:
        cause = SKYDNS_REFUSED;
        break;
    case DNS_RCODE_SERVFAIL:
        cause = SKYDNS_SERVFAIL;
        break;
    case DNS_RCODE_NOERROR:
        cause = response_has_answer(response) ? SKYDNS_CAUSES : SKYDNS_NODATA;
        break;
    }
    if (response_is_truncated(response)) {
        cause = SKYDNS_TRUNCATED;
    }
    if (cause != SKYDNS_CAUSES) {
        counter_add(&causes[cause], 1);
    }
}

void skydns_counts_response(struct skydns_counts *counts, const struct response *response)
{
    enum skydns_system system = system_of(counts, response);
    counter_add(&counts->sums.systems[system].requests, 1);
    histogram_observe(&counts->sums.systems[system].durations, &duration_scale,
                      clock_monotonic_us() - counts->begun_us);
    histogram_observe(&counts->sums.systems[system].sizes, &size_scale, (int64_t)response->len);
    count_cause(counts->sums.systems[system].causes, response);
}

/* ---- Their page ---- */

void skydns_metrics_write(const struct skydns_sums *sums, uint64_t cache_misses,
                          uint64_t signature_misses, const char *prefix, struct buf *out)
{
    struct metrics_page page = metrics_page_begin(out, prefix);
    metrics_family(&page, METRIC_COUNTER, "dns_request_count_total",
                   "Queries answered, by whose name was queried.");
    for (size_t s = 0; s < SKYDNS_SYSTEMS; s++) {
        metrics_sample(&page, METRIC_LABELS({"system", system_names[s]}),
                       counter_get(&sums->systems[s].requests));
    }
    metrics_family(&page, METRIC_COUNTER, "dns_error_count_total", "Responses without an answer.");
    for (size_t s = 0; s < SKYDNS_SYSTEMS; s++) {
        for (size_t i = 0; i < SKYDNS_CAUSES; i++) {
            metrics_sample(&page,
                           METRIC_LABELS({"system", system_names[s]}, {"cause", cause_names[i]}),
                           counter_get(&sums->systems[s].causes[i]));
        }
    }
    metrics_family(&page, METRIC_COUNTER, "dns_cachemiss_count_total",
                   "Queries that a cache could not answer; signatures that were not cached.");
    metrics_sample(&page, METRIC_LABELS({"cache", "response"}), cache_misses);
    metrics_sample(&page, METRIC_LABELS({"cache", "signature"}), signature_misses);
    metrics_family(&page, METRIC_HISTOGRAM, "dns_request_duration_seconds",
                   "From a query's arrival to its response.");
    for (size_t s = 0; s < SKYDNS_SYSTEMS; s++) {
        metrics_histogram_sample(&page, METRIC_LABELS({"system", system_names[s]}), &duration_scale,
                                 &sums->systems[s].durations);
    }
    metrics_family(&page, METRIC_HISTOGRAM, "dns_response_size_bytes", "Responses by length.");
    for (size_t s = 0; s < SKYDNS_SYSTEMS; s++) {
        metrics_histogram_sample(&page, METRIC_LABELS({"system", system_names[s]}), &size_scale,
                                 &sums->systems[s].sizes);
    }
}
