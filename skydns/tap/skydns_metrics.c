#include "skydns/tap/skydns_metrics.h"

#include <string.h>

#include "common/base/clock.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "skydns/wire/response.h"

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

/* ---- Counting ---- */

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

/* Recursive: a nameserver's reply, or our SERVFAIL without AA, for another domain's name. Cache:
 * what was known of such a name, from a nameserver or a hosts file. */
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

/* ---- The page ---- */

void skydns_metrics_write(const struct skydns_sums *sums, uint64_t cache_misses,
                          uint64_t signature_misses, const char *prefix, struct buf *out)
{
    struct metrics_page page = metrics_page_begin(out, prefix);
    metrics_family(&page, METRIC_COUNTER, "dns_request_count_total",
                   "Queries answered, by whose name was asked for.");
    for (size_t s = 0; s < SKYDNS_SYSTEMS; s++) {
        metrics_sample(&page, METRIC_LABELS({"system", system_names[s]}),
                       counter_get(&sums->systems[s].requests));
    }
    metrics_family(&page, METRIC_COUNTER, "dns_error_count_total", "Replies without an answer.");
    for (size_t s = 0; s < SKYDNS_SYSTEMS; s++) {
        for (size_t i = 0; i < SKYDNS_CAUSES; i++) {
            metrics_sample(&page,
                           METRIC_LABELS({"system", system_names[s]}, {"cause", cause_names[i]}),
                           counter_get(&sums->systems[s].causes[i]));
        }
    }
    metrics_family(&page, METRIC_COUNTER, "dns_cachemiss_count_total",
                   "Questions that a cache could not answer; signatures that were not kept.");
    metrics_sample(&page, METRIC_LABELS({"cache", "response"}), cache_misses);
    metrics_sample(&page, METRIC_LABELS({"cache", "signature"}), signature_misses);
    metrics_family(&page, METRIC_HISTOGRAM, "dns_request_duration_seconds",
                   "From a query's arrival to its reply.");
    for (size_t s = 0; s < SKYDNS_SYSTEMS; s++) {
        metrics_histogram_sample(&page, METRIC_LABELS({"system", system_names[s]}), &duration_scale,
                                 &sums->systems[s].durations);
    }
    metrics_family(&page, METRIC_HISTOGRAM, "dns_response_size_bytes", "Replies by length.");
    for (size_t s = 0; s < SKYDNS_SYSTEMS; s++) {
        metrics_histogram_sample(&page, METRIC_LABELS({"system", system_names[s]}), &size_scale,
                                 &sums->systems[s].sizes);
    }
}
