/* Shows queries and responses to what watches them beside the counters: the query log, dnstap, and,
 * while /live is read, samples of names. One for the program, shared by the threads that answer.
 * Each of them shows it every response, or one in 32 if only samples are wanted. While nothing
 * watches, each response costs one relaxed load. */
#ifndef SKYDNS_TAP_QUERY_TAP_H
#define SKYDNS_TAP_QUERY_TAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/dns/dname.h"
#include "skydns/tap/query_counts.h"
#include "skydns/tap/query_log.h"
#include "skydns/wire/query.h"

struct client_index;
struct dnstap;
struct name_samples;
struct response;

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
};

struct query_tap {
    _Atomic unsigned watched;        /* bits of the above */
    _Atomic bool are_clients_wanted; /* each thread counts them in its own client_counts.h */
    _Atomic uint64_t rule;           /* of the log, in one word: mode and every */
    struct name_samples *samples;
    struct dnstap *dnstap; /* NULL: none */
};

/* Makes it before the threads. Both are borrowed; dnstap NULL: none. */
void query_tap_init(struct query_tap *tap, struct name_samples *samples, struct dnstap *dnstap);

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

/* Returns whether query_tap_show wants to see the response. Any thread that answers, with its
 * counts. */
static inline bool query_tap_wants(const struct query_tap *tap, struct query_counts *counts)
{
    unsigned watched = atomic_load_explicit(&tap->watched, memory_order_relaxed);
    return watched && (watched & QUERY_TAP_ALL || ++counts->sampled % QUERY_TAP_SAMPLE_OF == 0);
}

/* Shows dnstap a query that is deferred, while its bytes are there. The same threads; clients as in
 * query_seen. */
void query_tap_show_query(const struct query_tap *tap, const struct engine_query *query,
                          const struct client_index *clients);

/* Shows a response, with that thread's counts. Never waits. */
void query_tap_show(const struct query_tap *tap, struct query_counts *counts,
                    const struct query_seen *seen);

/* Passes questions from the threads that answer to the main thread, which counts the most asked
 * names while /live is read (query_tap.h). Many threads put, one takes; nobody ever waits:
 * questions that do not fit are left out, as most are. */

struct response;

enum { NAME_SAMPLES_MAX = 256 }; /* a second's worth, 70 KB; a power of two */

struct name_sample {
    struct dname name; /* as asked, in any case */
    uint16_t type;
};

struct name_samples {
    _Atomic uint32_t put, taken; /* how many; the slot of each is this modulo the size */
    struct name_place {
        /* Number of the sample that the slot is free for; that and 1: it has this sample. */
        _Atomic uint32_t turn;
        struct name_sample sample;
    } places[NAME_SAMPLES_MAX];
};

void name_samples_init(struct name_samples *samples);

/* Puts the question of a response, if it has one. Any thread. */
void name_samples_put(struct name_samples *samples, const struct response *response);

/* Takes a sample. One thread. Returns false if there is none. */
bool name_samples_take(struct name_samples *samples, struct name_sample *ret) MUST_CHECK;

#endif
