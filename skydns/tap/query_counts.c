#include "skydns/tap/query_counts.h"

#include <stdlib.h>

const struct histogram_scale query_reply_scale = {
    .bound_count = 16,
    .bounds = {50, 100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200, 102400, 204800,
               409600, 819200, 1638400},
    .page_unit = 1e6,
    .sum_decimals = 6,
};

const uint8_t query_types[QUERY_TYPES_SMALL] = {
    [DNS_TYPE_A] = QUERY_TYPE_A,           [DNS_TYPE_AAAA] = QUERY_TYPE_AAAA,
    [DNS_TYPE_SRV] = QUERY_TYPE_SRV,       [DNS_TYPE_PTR] = QUERY_TYPE_PTR,
    [DNS_TYPE_TXT] = QUERY_TYPE_TXT,       [DNS_TYPE_MX] = QUERY_TYPE_MX,
    [DNS_TYPE_NS] = QUERY_TYPE_NS,         [DNS_TYPE_SOA] = QUERY_TYPE_SOA,
    [DNS_TYPE_CNAME] = QUERY_TYPE_CNAME,   [DNS_TYPE_HTTPS] = QUERY_TYPE_HTTPS,
    [DNS_TYPE_DNSKEY] = QUERY_TYPE_DNSKEY, [DNS_TYPE_DS] = QUERY_TYPE_DS,
    [DNS_TYPE_ANY] = QUERY_TYPE_ANY,
};

const char *query_type_name(enum query_type type)
{
    static const char *const names[QUERY_TYPES] = {
        [QUERY_TYPE_OTHER] = "other", [QUERY_TYPE_A] = "A",         [QUERY_TYPE_AAAA] = "AAAA",
        [QUERY_TYPE_SRV] = "SRV",     [QUERY_TYPE_PTR] = "PTR",     [QUERY_TYPE_TXT] = "TXT",
        [QUERY_TYPE_MX] = "MX",       [QUERY_TYPE_NS] = "NS",       [QUERY_TYPE_SOA] = "SOA",
        [QUERY_TYPE_CNAME] = "CNAME", [QUERY_TYPE_HTTPS] = "HTTPS", [QUERY_TYPE_DNSKEY] = "DNSKEY",
        [QUERY_TYPE_DS] = "DS",       [QUERY_TYPE_ANY] = "ANY",
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
    };
    sums->queries +=
        now.answered + now.deferred + now.dropped + now.refused + now.limited + now.limit_drops;
    sums->answered += now.answered;
    sums->deferred += now.deferred;
    sums->dropped += now.dropped;
    sums->refused += now.refused;
    sums->limited += now.limited;
    sums->limit_drops += now.limit_drops;
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
