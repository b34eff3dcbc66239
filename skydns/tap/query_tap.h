/* The seam for what watches queries and replies beside the counters: the query log, dnstap, and
 * while somebody looks at /live, samples of names. One for the program, shared by the threads that
 * answer; each of them shows it every reply, or one in 32 if only samples are wanted. Nothing
 * watches: one relaxed load for each reply. */
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

/* A query and its response; all borrowed. */
struct query_seen {
    const struct engine_query *query;   /* of a late reply: what it owns */
    const struct response *response;    /* as it leaves */
    const struct client_index *clients; /* whose addresses are known; NULL: nobody's */
    int64_t took_us;                    /* since this program has had the query */
};

enum {
    QUERY_TAP_LOG = 1,
    QUERY_TAP_DNSTAP = 2,
    QUERY_TAP_ALL = QUERY_TAP_LOG | QUERY_TAP_DNSTAP, /* these watch every reply, */
    QUERY_TAP_SAMPLES = 4,                            /* this one in QUERY_TAP_SAMPLE_OF */
    QUERY_TAP_SAMPLE_OF = 32, /* a look at the reply costs about as much as the answer */
};

struct query_tap {
    _Atomic unsigned watched; /* bits of the above */
    _Atomic uint64_t rule;    /* of the log, in one word: mode and every */
    struct name_samples *samples;
    struct dnstap *dnstap; /* NULL: none */
};

/* Before the threads. Both are borrowed; dnstap NULL: none. */
void query_tap_init(struct query_tap *tap, struct name_samples *samples, struct dnstap *dnstap);

/* Main thread; replies from now on. */
void query_tap_set_log(struct query_tap *tap, struct query_log_rule rule);

/* The same; name_samples_take has them. */
void query_tap_set_sampling(struct query_tap *tap, bool is_sampling);

/* Any thread that answers, with its counts. True: query_tap_show wants to see the reply. */
static inline bool query_tap_wants(const struct query_tap *tap, struct query_counts *counts)
{
    unsigned watched = atomic_load_explicit(&tap->watched, memory_order_relaxed);
    return watched && (watched & QUERY_TAP_ALL || ++counts->sampled % QUERY_TAP_SAMPLE_OF == 0);
}

/* The same threads: shows dnstap a query that is deferred, while its bytes are there. */
void query_tap_show_query(const struct query_tap *tap, const struct engine_query *query);

/* That thread's counts. Never waits. */
void query_tap_show(const struct query_tap *tap, struct query_counts *counts,
                    const struct query_seen *seen);

/* Questions on their way from the threads that answer to the main thread, which counts the most
 * asked names while somebody looks (query_tap.h). Many threads put, one takes; nobody ever waits:
 * what does not fit is left out, as most questions are. */

struct response;

enum { NAME_SAMPLES_MAX = 256 }; /* a second's worth, 70 KB; a power of two */

struct name_sample {
    struct dname name; /* as asked, in any case */
    uint16_t type;
};

struct name_samples {
    _Atomic uint32_t put, taken; /* how many; the place of each is this modulo the size */
    struct name_place {
        /* The number of the sample that the place is free for; that and 1: it has this sample. */
        _Atomic uint32_t turn;
        struct name_sample sample;
    } places[NAME_SAMPLES_MAX];
};

void name_samples_init(struct name_samples *samples);

/* Any thread: the question of a response, if it has one. */
void name_samples_put(struct name_samples *samples, const struct response *response);

/* One thread. False: there is none. */
bool name_samples_take(struct name_samples *samples, struct name_sample *ret) MUST_CHECK;

#endif
