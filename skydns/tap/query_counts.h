/* Counts the queries of a thread that answers: each worker for UDP, the resolver for TCP and for
 * its late answers to queries that workers deferred. Only that thread writes (relaxed counters,
 * common/base/metrics.h), any thread reads. Each set has its own cache lines, so that counting
 * never contends for another thread's. */
#ifndef SKYDNS_TAP_QUERY_COUNTS_H
#define SKYDNS_TAP_QUERY_COUNTS_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/clock.h"
#include "common/base/metrics.h"
#include "common/dns/dns.h"
#include "skydns/wire/response.h"

/* ---- SkyDNS's own metrics ---- */

/* Under its names and PROMETHEUS_* settings, for existing dashboards: requests, their durations and
 * reply sizes, by who answered; errors by cause. Counted only if PROMETHEUS_PORT enables them,
 * since they cost two clock readings per query.
 *
 * Who answered, and what was wrong. SkyDNS also had `stub`, which counts as recursive here, and
 * `overflow`. */
enum skydns_system { SKYDNS_AUTH, SKYDNS_CACHE, SKYDNS_RECURSIVE, SKYDNS_REVERSE, SKYDNS_SYSTEMS };
enum skydns_cause {
    SKYDNS_NXDOMAIN,
    SKYDNS_NODATA,
    SKYDNS_TRUNCATED,
    SKYDNS_REFUSED,
    SKYDNS_SERVFAIL,
    SKYDNS_CAUSES
};

/* Counters of one thread, or the sum of several. */
struct skydns_sums {
    struct {
        struct counter requests;
        struct counter causes[SKYDNS_CAUSES];
        struct histogram durations; /* us */
        struct histogram sizes;     /* bytes */
    } systems[SKYDNS_SYSTEMS];
};

struct skydns_counts {
    struct skydns_sums sums;
    int64_t begun_us;     /* of the query being answered */
    bool is_from_forward; /* an upstream answers it */
};

/* Makes the counts, on cache lines of their own; free them with free. */
struct skydns_counts *skydns_counts_new(void);

/* Begin a query that arrived at begun_us (clock_monotonic_us), and count its response, which there
 * is. */
void skydns_counts_begin(struct skydns_counts *counts, int64_t begun_us, bool is_from_forward);
void skydns_counts_response(struct skydns_counts *counts, const struct response *response);

/* Appends the page. `cache_misses`: questions that the response cache could not answer.
 * `signature_misses`: signatures that were not in the signature cache. `prefix` is
 * "<namespace>_<subsystem>_". */
void skydns_metrics_write(const struct skydns_sums *sums, uint64_t cache_misses,
                          uint64_t signature_misses, const char *prefix, struct buf *out);

/* ---- All queries ---- */

/* Room for the four bits of the header (RFC 1035 4.1.1), and BADVERS and BADCOOKIE, whose upper
 * bits are in OPT. Those between are never counted. */
enum { QUERY_RCODES = DNS_RCODE_BADCOOKIE + 1 };

/* Types with a count of their own; all others are OTHER. */
#define QUERY_COUNTED_TYPES(X) \
    X(A) X(AAAA) X(SRV) X(PTR) X(TXT) X(MX) X(NS) X(SOA) X(CNAME) X(HTTPS) X(DNSKEY) X(DS) X(ANY)

enum query_type {
    QUERY_TYPE_OTHER,
#define QUERY_TYPE_ENUMERATOR(name) QUERY_TYPE_##name,
    QUERY_COUNTED_TYPES(QUERY_TYPE_ENUMERATOR)
#undef QUERY_TYPE_ENUMERATOR
        QUERY_TYPES
};
/* Returns the type's name: "AAAA", "other". */
const char *query_type_name(enum query_type type);
enum { QUERY_TYPES_SMALL = 256 }; /* all that have their own are below */
extern const uint8_t query_types[QUERY_TYPES_SMALL];

struct query_counts {
    alignas(COUNTERS_ALIGN) struct counter answered; /* at once, from the store */
    struct counter deferred;                         /* passed to the resolver */
    struct counter dropped;                          /* not a query: no response */
    struct counter refused; /* SERVFAIL at once, because the resolver had no room */
    struct counter
        limited; /* beyond their client's rate: an empty response with TC, or BADCOOKIE */
    struct counter limit_drops;      /* the same, and no response */
    struct counter limit_exempt;     /* a valid cookie: the client's rate does not count */
    struct counter namespace_drops;  /* beyond their namespace's rate: no response */
    struct counter namespace_delays; /* the same, on connections: read later */
    struct counter
        not_allowed;          /* of those answered: REFUSED, since the client may not ask at all */
    struct counter unsent;    /* UDP responses that the kernel rejected */
    struct counter truncated; /* responses with TC */
    struct counter log_dropped;          /* lines of the query log that were lost */
    struct counter rcodes[QUERY_RCODES]; /* responses, late ones too */
    struct counter types[QUERY_TYPES];   /* of the questions in them */
    struct histogram took; /* us, of query_reply_scale: until the response left, or was passed on */
    struct skydns_counts *skydns; /* owned; NULL: not wanted */

    /* Its owner's, of samples (query_tap.h): */
    uint32_t sampled;                  /* responses, of which one in so many is a sample */
    uint32_t missing_left;             /* denials to the next sample of them; 0: not chosen yet */
    uint32_t missing_random;           /* chooses it; 0: not begun */
    bool is_sample, is_missing_sample; /* the response at hand */
};

/* Makes the counts before the thread starts. want_skydns: also count for SkyDNS's own metrics. */
void query_counts_init(struct query_counts *counts, bool want_skydns);
void query_counts_fini(struct query_counts *counts);

/* Returns the type of the question that a response repeats; OTHER if it repeats none. */
static inline enum query_type query_counts_type(const struct response *response)
{
    const unsigned type = response->name_len > 0 ? response_type(response) : QUERY_TYPES_SMALL;
    return type < QUERY_TYPES_SMALL ? (enum query_type)query_types[type] : QUERY_TYPE_OTHER;
}

/* Counts a response, if there is one, but not for SkyDNS's own metrics. */
static inline void query_counts_plain(struct query_counts *counts, const struct response *response)
{
    if (response->len == 0) {
        return;
    }
    if (response_is_truncated(response)) {
        counter_add(&counts->truncated, 1);
    }
    counter_add(&counts->rcodes[response_rcode(response)], 1);
    counter_add(&counts->types[query_counts_type(response)], 1);
}

/* Counts a response, if there is one. */
static inline void query_counts_response(struct query_counts *counts,
                                         const struct response *response)
{
    query_counts_plain(counts, response);
    if (response->len > 0 && counts->skydns) {
        skydns_counts_response(counts->skydns, response);
    }
}

/* Buckets from 50 us, doubling, to 1.6 s. */
extern const struct histogram_scale query_reply_scale;

static inline void query_counts_took(struct query_counts *counts, int64_t us)
{
    histogram_observe(&counts->took, &query_reply_scale, us);
}

/* Notes that this thread starts to answer a query; query_counts_response follows. */
static inline void query_counts_begin(struct query_counts *counts)
{
    if (counts->skydns) {
        skydns_counts_begin(counts->skydns, clock_monotonic_us(), false);
    }
}

/* Counts of one thread, or the sum of several. */
struct query_sums {
    uint64_t queries; /* answered, deferred, dropped, refused, or rate-limited */
    uint64_t answered;
    uint64_t deferred;
    uint64_t dropped;
    uint64_t refused;
    uint64_t limited, limit_drops, limit_exempt, not_allowed;
    uint64_t namespace_drops, namespace_delays;
    uint64_t unsent;
    uint64_t truncated;
    uint64_t log_dropped;
    uint64_t rcodes[QUERY_RCODES];
    uint64_t types[QUERY_TYPES];
    struct histogram took;
    struct skydns_sums skydns;
};

/* Adds a thread's counts. Any thread. */
void query_sums_add(struct query_sums *sums, const struct query_counts *counts);

#endif
