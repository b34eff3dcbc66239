#include "skydns/serve/skydns_metrics.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/cursor.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "skydns/serve/query_counts.h"

static const struct {
    int64_t us;
    const char *text;
} duration_bounds[SKYDNS_DURATION_BOUNDS] = {
    {1000, "0.001"},  {3000, "0.003"}, {5000, "0.005"},  {10000, "0.01"}, {25000, "0.025"},
    {50000, "0.05"},  {100000, "0.1"}, {250000, "0.25"}, {500000, "0.5"}, {1000000, "1"},
    {2500000, "2.5"}, {5000000, "5"},  {10000000, "10"},
};

static const uint32_t size_bounds[SKYDNS_SIZE_BOUNDS] = {
    0,     512,   1024,  1500,  2048,  4096,  8192,  12288, 16384, 20480, 24576,
    28672, 32768, 36864, 40960, 45056, 49152, 53248, 57344, 61440, 65536,
};

static const char *const system_names[SKYDNS_SYSTEMS] = {"auth", "recursive", "reverse"};
static const char *const cause_names[SKYDNS_CAUSES] = {"nxdomain", "nodata", "truncated", "refused",
                                                       "servfail"};

/* ---- Counting ---- */

struct skydns_counts *skydns_counts_new(void)
{
    return xcalloc_aligned(QUERY_COUNTS_ALIGN, sizeof(struct skydns_counts));
}

void skydns_counts_begin(struct skydns_counts *counts, int64_t begun_us, bool is_from_forward)
{
    counts->begun_us = begun_us;
    counts->is_from_forward = is_from_forward;
}

static bool is_reverse_pointer(const uint8_t *reply, size_t len)
{
    static const struct dname arpa = {.len = 6, .wire = "\4arpa"};
    struct reader r = reader_of(reply, len);
    struct dname name;
    reader_seek(&r, DNS_HEADER_SIZE);
    return dname_read(&r, &name) && reader_u16(&r) == DNS_TYPE_PTR && !r.failed &&
           dname_is_within(&name, &arpa);
}

/* What is not said with authority, and is no refusal of ours, is about somebody else's name. */
static enum skydns_system system_of(const struct skydns_counts *counts, const uint8_t *reply,
                                    size_t len)
{
    bool is_authoritative = (reply[2] & DNS_FLAG_AA >> 8) != 0;
    if (counts->is_from_forward ||
        (!is_authoritative && (reply[3] & DNS_MASK_RCODE) == DNS_RCODE_SERVFAIL)) {
        return SKYDNS_RECURSIVE;
    }
    return is_reverse_pointer(reply, len) ? SKYDNS_REVERSE : SKYDNS_AUTH;
}

static void count_cause(struct skydns_system_counts *system, const uint8_t *reply)
{
    bool is_empty = (reply[6] | reply[7]) == 0;
    enum skydns_cause cause = SKYDNS_CAUSES;
    switch (reply[3] & DNS_MASK_RCODE) {
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
        cause = is_empty ? SKYDNS_NODATA : SKYDNS_CAUSES;
        break;
    }
    if (reply[2] & DNS_FLAG_TC >> 8) {
        cause = SKYDNS_TRUNCATED;
    }
    if (cause != SKYDNS_CAUSES) {
        counter_add(&system->causes[cause], 1);
    }
}

void skydns_counts_reply(struct skydns_counts *counts, const uint8_t *reply, size_t len)
{
    int64_t us = clock_monotonic_us() - counts->begun_us;
    struct skydns_system_counts *system = &counts->systems[system_of(counts, reply, len)];
    size_t duration = 0, size = 0;
    while (duration < SKYDNS_DURATION_BOUNDS && us > duration_bounds[duration].us) {
        duration++;
    }
    while (size < SKYDNS_SIZE_BOUNDS && len > size_bounds[size]) {
        size++;
    }
    counter_add(&system->requests, 1);
    counter_add(&system->durations[duration], 1);
    counter_add(&system->duration_us, us > 0 ? (uint64_t)us : 0);
    counter_add(&system->sizes[size], 1);
    counter_add(&system->size_bytes, len);
    count_cause(system, reply);
}

/* ---- Adding up ---- */

static void add_all(uint64_t *sums, const struct counter *counts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sums[i] += counter_get(&counts[i]);
    }
}

void skydns_sums_add(struct skydns_sums *sums, const struct skydns_counts *counts)
{
    for (size_t i = 0; counts && i < SKYDNS_SYSTEMS; i++) {
        const struct skydns_system_counts *from = &counts->systems[i];
        sums->systems[i].requests += counter_get(&from->requests);
        sums->systems[i].duration_us += counter_get(&from->duration_us);
        sums->systems[i].size_bytes += counter_get(&from->size_bytes);
        add_all(sums->systems[i].causes, from->causes, SKYDNS_CAUSES);
        add_all(sums->systems[i].durations, from->durations, SKYDNS_DURATION_BOUNDS + 1);
        add_all(sums->systems[i].sizes, from->sizes, SKYDNS_SIZE_BOUNDS + 1);
    }
}

void skydns_sums_join(struct skydns_sums *sums, const struct skydns_sums *more)
{
    uint64_t *to = (uint64_t *)sums; /* nothing but numbers */
    const uint64_t *from = (const uint64_t *)more;
    for (size_t i = 0; i < sizeof(*sums) / sizeof(*to); i++) {
        to[i] += from[i];
    }
}

/* ---- The page ---- */

static void head(struct buf *out, const char *prefix, const char *name, const char *type,
                 const char *help)
{
    buf_printf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", prefix, name, help, prefix, name, type);
}

static void write_durations(const struct skydns_sums *sums, const char *prefix, struct buf *out)
{
    static const char name[] = "dns_request_duration_seconds";
    head(out, prefix, name, "histogram", "From a query's arrival to its reply.");
    for (size_t s = 0; s < SKYDNS_SYSTEMS; s++) {
        const uint64_t *buckets = sums->systems[s].durations;
        uint64_t count = 0;
        for (size_t i = 0; i < SKYDNS_DURATION_BOUNDS; i++) {
            count += buckets[i];
            buf_printf(out, "%s%s_bucket{system=\"%s\",le=\"%s\"} %" PRIu64 "\n", prefix, name,
                       system_names[s], duration_bounds[i].text, count);
        }
        count += buckets[SKYDNS_DURATION_BOUNDS];
        buf_printf(out,
                   "%s%s_bucket{system=\"%s\",le=\"+Inf\"} %" PRIu64
                   "\n%s%s_sum{system=\"%s\"} %.6f\n%s%s_count{system=\"%s\"} %" PRIu64 "\n",
                   prefix, name, system_names[s], count, prefix, name, system_names[s],
                   (double)sums->systems[s].duration_us / 1e6, prefix, name, system_names[s],
                   count);
    }
}

static void write_sizes(const struct skydns_sums *sums, const char *prefix, struct buf *out)
{
    static const char name[] = "dns_response_size_bytes";
    head(out, prefix, name, "histogram", "Replies, by their length.");
    for (size_t s = 0; s < SKYDNS_SYSTEMS; s++) {
        const uint64_t *buckets = sums->systems[s].sizes;
        uint64_t count = 0;
        for (size_t i = 0; i < SKYDNS_SIZE_BOUNDS; i++) {
            count += buckets[i];
            buf_printf(out, "%s%s_bucket{system=\"%s\",le=\"%" PRIu32 "\"} %" PRIu64 "\n", prefix,
                       name, system_names[s], size_bounds[i], count);
        }
        count += buckets[SKYDNS_SIZE_BOUNDS];
        buf_printf(out,
                   "%s%s_bucket{system=\"%s\",le=\"+Inf\"} %" PRIu64
                   "\n%s%s_sum{system=\"%s\"} %" PRIu64 "\n%s%s_count{system=\"%s\"} %" PRIu64 "\n",
                   prefix, name, system_names[s], count, prefix, name, system_names[s],
                   sums->systems[s].size_bytes, prefix, name, system_names[s], count);
    }
}

void skydns_metrics_write(const struct skydns_sums *sums, const char *prefix, struct buf *out)
{
    struct metrics_page page = metrics_page_begin(out, prefix);
    metrics_family(&page, METRIC_COUNTER, "dns_request_count_total",
                   "Queries answered, by whose name it was.");
    for (size_t s = 0; s < SKYDNS_SYSTEMS; s++) {
        metrics_sample(&page, METRIC_LABELS({"system", system_names[s]}),
                       sums->systems[s].requests);
    }
    metrics_family(&page, METRIC_COUNTER, "dns_error_count_total", "Replies without an answer.");
    for (size_t s = 0; s < SKYDNS_SYSTEMS; s++) {
        for (size_t i = 0; i < SKYDNS_CAUSES; i++) {
            metrics_sample(&page,
                           METRIC_LABELS({"system", system_names[s]}, {"cause", cause_names[i]}),
                           sums->systems[s].causes[i]);
        }
    }
    metrics_family(&page, METRIC_COUNTER, "dns_cachemiss_count_total",
                   "Always 0: there are no such caches.");
    metrics_sample(&page, METRIC_LABELS({"cache", "response"}), 0);
    metrics_sample(&page, METRIC_LABELS({"cache", "signature"}), 0);
    write_durations(sums, prefix, out);
    write_sizes(sums, prefix, out);
}
