/* Shows queries and responses to what watches them beside the counters: the query log, dnstap,
 * samples of names while /live is read, and samples of names that do not exist (/missing). One for
 * the program, shared by the threads that answer. Each of them shows it every response, or one in
 * 32 if only names are wanted, and about one denial in 16 if only missing ones are: an NXDOMAIN, or
 * an alias of an external name that does not exist. While nothing watches, each response costs one
 * relaxed load. */
#ifndef SKYDNS_TAP_QUERY_TAP_H
#define SKYDNS_TAP_QUERY_TAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/dns/dname.h"
#include "skydns/tap/query_counts.h"
#include "skydns/tap/query_log.h"
#include "skydns/wire/query.h"
#include "skydns/wire/response.h"

struct client_index;
struct dnstap;
struct name_samples;

/* Query and its response; all borrowed. */
struct query_seen {
    const struct engine_query *query;   /* for a late response: what it owns */
    const struct response *response;    /* as it leaves */
    const struct client_index *clients; /* whose addresses are known; NULL: nobody's */
    int64_t took_us;                    /* since this program has had the query */
};

enum {
    QUERY_TAP_LOG = 1,
    QUERY_TAP_DNSTAP = 2,
    QUERY_TAP_ALL = QUERY_TAP_LOG | QUERY_TAP_DNSTAP, /* these watch every response, */
    QUERY_TAP_SAMPLES = 4,                            /* this one in QUERY_TAP_SAMPLE_OF */
    QUERY_TAP_SAMPLE_OF = 32, /* a look at the response costs about as much as the answer */
    QUERY_TAP_MISSING = 8,    /* this one denial in QUERY_TAP_MISSING_OF, */
    QUERY_TAP_MISSING_OF = 16,
    QUERY_TAP_MISSING_GAP_MIN = 8, /* at distances from here to three times as much, at random: */
    QUERY_TAP_MISSING_GAPS = 17, /* a search list is eight queries, of which no one is preferred */
};

struct query_tap {
    _Atomic unsigned watched;        /* bits of the above */
    _Atomic bool are_clients_wanted; /* each thread counts them in its own client_counts.h */
    _Atomic uint64_t rule;           /* of the log, in one word: mode and every */
    struct name_samples *samples;
    struct name_samples *missing; /* NULL: they are not wanted */
    struct dnstap *dnstap;        /* NULL: none */
};

/* Makes it before the threads. All are borrowed; dnstap NULL: none; missing NULL: names that do not
 * exist are not wanted. */
void query_tap_init(struct query_tap *tap, struct name_samples *samples,
                    struct name_samples *missing, struct dnstap *dnstap);

/* Sets the log's rule for responses from now on. Main thread. */
void query_tap_set_log(struct query_tap *tap, struct query_log_rule rule);

/* Turns samples on or off; name_samples_take has them. Main thread. */
void query_tap_set_sampling(struct query_tap *tap, bool is_sampling);

/* Turns the counting of clients on or off. Each thread that answers has its client_counts then.
 * Main thread. */
void query_tap_set_clients(struct query_tap *tap, bool are_wanted);

/* Returns whether clients are counted. Any thread that answers. */
static inline bool query_tap_wants_clients(const struct query_tap *tap)
{
    return atomic_load_explicit(&tap->are_clients_wanted, memory_order_relaxed);
}

/* Decides for query_tap_wants, and counts. */
bool query_tap_is_due(struct query_counts *counts, unsigned watched,
                      const struct response *response);

/* Returns whether query_tap_show is to see the response, which it then does. Any thread that
 * answers, with its counts. Missing names alone cost responses of names that exist two comparisons.
 */
static inline bool query_tap_wants(const struct query_tap *tap, struct query_counts *counts,
                                   const struct response *response)
{
    const unsigned watched = atomic_load_explicit(&tap->watched, memory_order_relaxed);
    return watched &&
           (watched != QUERY_TAP_MISSING || response_low_rcode(response) == DNS_RCODE_NXDOMAIN ||
            response->lacks_target) &&
           query_tap_is_due(counts, watched, response);
}

/* Shows dnstap a query that is deferred, while its bytes are there. The same threads; clients as in
 * query_seen. */
void query_tap_show_query(const struct query_tap *tap, const struct engine_query *query,
                          const struct client_index *clients);

/* Shows a response, with that thread's counts. Never waits. */
void query_tap_show(const struct query_tap *tap, struct query_counts *counts,
                    const struct query_seen *seen);

/* Passes questions from the threads that answer to the main thread, which counts the most asked
 * names while /live is read, and missing ones (query_tap.h). Many threads put, one takes; nobody
 * ever waits: questions that do not fit are left out, and counted. */

enum {
    NAME_SAMPLES_MAX = 256,     /* of /live: a second's worth, 75 KB; a power of two */
    MISSING_SAMPLES_MAX = 1024, /* of /missing: a quarter of a second's, 300 KB; likewise */
};

struct name_sample {
    struct dname name; /* as asked, in any case */
    uint16_t type;
    struct ip client;
};

struct name_samples {
    _Atomic uint32_t put, taken; /* how many; the slot of each is this modulo the size */
    _Atomic uint64_t dropped;    /* since the start: there was no room */
    uint32_t size;
    struct name_place {
        /* Number of the sample that the slot is free for; that and 1: it has this sample. */
        _Atomic uint32_t turn;
        struct name_sample sample;
    } places[];
};

/* Makes it for so many samples, a power of two. */
struct name_samples *name_samples_new(uint32_t size);
void name_samples_free(struct name_samples *samples); /* no thread puts; NULL is fine */

/* Puts the question of a response, if it has one, and its client. Any thread. */
void name_samples_put(struct name_samples *samples, const struct query_seen *seen);

/* Returns how many had no room since the start. Any thread. */
uint64_t name_samples_dropped(const struct name_samples *samples);

/* Takes a sample. One thread. Returns false if there is none. */
bool name_samples_take(struct name_samples *samples, struct name_sample *ret) MUST_CHECK;

#endif
