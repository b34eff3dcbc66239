#include "skydns/serve/query_counts.h"

#include <stdlib.h>

#include "common/base/cursor.h"
#include "skydns/answer/edns.h"

enum { COUNTS_AT = 6 };

/* RFC 6891 6.1.3. Our own replies carry no options; a reply with options counts by its header. */
bool query_counts_is_badvers(const uint8_t *reply, size_t len)
{
    struct reader r = reader_of(reply, len);
    reader_seek(&r, COUNTS_AT);
    bool is_bare = reader_u16(&r) == 0 && reader_u16(&r) == 0 && reader_u16(&r) == 1;
    if (!is_bare || len < DNS_HEADER_SIZE + EDNS_OPT_SIZE) {
        return false;
    }
    reader_seek(&r, len - EDNS_OPT_SIZE);
    bool is_opt = reader_u8(&r) == 0 && reader_u16(&r) == DNS_TYPE_OPT;
    (void)reader_u16(&r); /* the size */
    return is_opt && reader_u8(&r) == DNS_RCODE_BADVERS >> 4;
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
    };
    sums->queries += now.answered + now.deferred + now.dropped + now.refused;
    sums->answered += now.answered;
    sums->deferred += now.deferred;
    sums->dropped += now.dropped;
    sums->refused += now.refused;
    sums->unsent += counter_get(&counts->unsent);
    sums->truncated += counter_get(&counts->truncated);
    for (size_t i = 0; i < QUERY_RCODES; i++) {
        sums->rcodes[i] += counter_get(&counts->rcodes[i]);
    }
    if (counts->skydns) {
        counters_add(&sums->skydns, &counts->skydns->sums, sizeof(sums->skydns));
    }
}
