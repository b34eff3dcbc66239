#include "skydns/tap/query_counts.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "skydns/wire/cookie_option.h"

enum { COUNTS_AT = 6 };

enum { OPT_EXTENDED_AT = 5, OPT_LENGTH_AT = 9 };

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

/* RFC 6891 6.1.3. The OPT record, which ends such a reply, has no option or a cookie; a reply with
 * others counts by its header. */
static const uint8_t *find_opt(const uint8_t *reply, size_t len)
{
    static const size_t options[] = {0, COOKIE_OPTION_SIZE};
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        size_t size = EDNS_OPT_SIZE + options[i];
        const uint8_t *opt = len >= DNS_HEADER_SIZE + size ? reply + len - size : NULL;
        if (opt && opt[0] == 0 && opt[1] == 0 && opt[2] == DNS_TYPE_OPT &&
            opt[OPT_LENGTH_AT] == 0 && opt[OPT_LENGTH_AT + 1] == options[i]) {
            return opt;
        }
    }
    return NULL;
}

size_t query_counts_rcode(const uint8_t *reply, size_t len)
{
    static const uint8_t only_opt[] = {0, 0, 0, 0, 0, 1};
    const uint8_t *opt =
        memcmp(reply + COUNTS_AT, only_opt, sizeof(only_opt)) == 0 ? find_opt(reply, len) : NULL;
    size_t low = reply[3] & DNS_MASK_RCODE;
    size_t rcode = (size_t)(opt ? opt[OPT_EXTENDED_AT] << 4 : 0) | low;
    return rcode == DNS_RCODE_BADVERS || rcode == DNS_RCODE_BADCOOKIE ? rcode : low;
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
