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
