/* Answers the queries that must wait, on a thread that may: the slow path. These are external
 * names, records that point to one, and subtree scans over thousands of records. It calls the same
 * engine_answer as the workers, on the store's current version:
 *
 *     worker -- ring --> resolver: engine_answer --> response
 *                          |  FORWARD: fetcher.h, then engine_forwarded --> response
 *                          |  LOOKUP: fetcher.h for each name, then engine_answer --> response
 *                          |  SCAN: answer_pool.h --> response, or LOOKUP and again SCAN
 *                          |  SIGN: answer_pool.h --> response, or LOOKUP or SCAN
 *                          `  REFRESH: fetcher.h; the client has its response
 *
 * A query with a search list (engine.h) may go round several times, at most once for each candidate
 * name. One that does not exist, or that no upstream answers, leads to the next. A query whose
 * configuration was replaced meanwhile is answered as if it had no search list.
 *
 * This thread visits no more records for an answer than a worker may, and makes few of the
 * expensive answers (ENGINE_BRIEF_MAX) between two looks at its sockets: the walker makes the
 * others. It makes no signatures: the signers do.
 *
 * A client gets its first signatures of a name in its turn, whatever other clients ask. If the
 * signers have no place, or the turn comes too late, a query over UDP counts as lost: the client
 * asks again, or another server, and the signatures that others have waited for are cached by then.
 * Clients would believe a SERVFAIL for up to 5 minutes (RFC 9520). On a connection it is SERVFAIL:
 * there, clients wait for each answer.
 *
 * When upstreams fail, or have not responded for stale_wait_ms, a stale answer is given, if there
 * is one; the question goes on, and its response is cached. Any other failure ends in SERVFAIL,
 * except that SRV and MX do without the addresses of a target that cannot be looked up. Every other
 * query taken is answered once. Created, started, stopped and freed on the main thread; runs its
 * own loop. */
#ifndef SKYDNS_RESOLVER_RESOLVER_H
#define SKYDNS_RESOLVER_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/metrics.h"
#include "common/tls/tls_client.h"
#include "skydns/resolver/answer_pool.h"
#include "skydns/tap/query_counts.h"
#include "skydns/upstream/fetcher.h"
#include "skydns/upstream/forwarder.h"
#include "skydns/upstream/upstreams.h"
#include "skydns/wire/deferral.h"
#include "skydns/wire/query.h"

struct deferred_origin;
struct engine_counts;
struct forwarder_counts;
struct dnstap;
struct ev_loop;
struct recursion;
struct resolver;
struct publisher_reader;
struct client_counts;
struct query_tap;
struct tls_pool_counts;
struct turn;

enum {
    /* Bounds the deferred queries of all workers and connections; 0.2-0.5 KB each, those with TSIG
     * up to 2 KiB. A client (client_net.h) gets no further place when it has as many as are free.
     * So it may have half of them alone, and there is always one for another. */
    RESOLVER_IN_HAND_MAX = 10000,
    /* The lookups of external names among these; a client has no more than as many as are free.
     * Each holds the records of its responses, packed, while it waits for others: at most
     * EXTERNAL_PACKED_UDP_MAX, so all of them 12 MiB, or over TCP EXTERNAL_PACKED_MAX, 64 MiB;
     * usually some 100 bytes. */
    RESOLVER_LOOKUPS_MAX = 1000,
    /* And queries at the walker, each with a response of at most 64 KB; a client has no more than a
     * part of these. Further ones get SERVFAIL at once. */
    RESOLVER_SCANS_MAX = 256,
    RESOLVER_CLIENT_SCANS_MAX = 64,
    /* And queries at the signers, 1 KB each: with RSA, responses with three signatures take one
     * signer 3 s, about as long as clients wait. A client has no more than as many as are free. */
    RESOLVER_SIGNS_MAX = 1024,
    RESOLVER_SIGNERS_NICE = 10, /* as for handshakes: a tenth of a busy processor */
    /* RFC 8767 5: how long a client waits for upstreams when there is a stale answer. */
    RESOLVER_STALE_WAIT_MS = 1800,
    /* The longest time that resolver_stop waits for deferred queries. */
    RESOLVER_DRAIN_MS = 1000,
    /* Threads and loops with connections: plain TCP's and the streams'. */
    RESOLVER_PRODUCERS_MAX = 2,
};

/* The configuration; all borrowed until resolver_free. Engines and readers are the resolver's
 * alone. */
struct resolver_config {
    bool random_case;                 /* of the names sent to upstreams: 0x20 */
    size_t sockets_max;               /* at most FORWARDER_SOCKETS_MAX: process_limits.h */
    struct tls_files nameservers_tls; /* CAs of upstreams with TLS, and what we present to them */
    struct cache_tally *cache_tally;  /* NULL: nothing sums the counts */
    uint32_t stale_wait_ms;           /* RESOLVER_STALE_WAIT_MS; shorter in tests */
    struct recursion *recursion;      /* which clients may ask about external names */
    struct engine *engine;
    struct publisher_reader *reader;
    struct answer_lane walker; /* the walker's, and the signers', at least one */
    struct answer_lane signers[POOL_THREADS_MAX];
    unsigned signer_count;
    uint32_t pool_answer_ms, pool_wait_ms; /* POOL_ANSWER_MS and POOL_WAIT_MS */
    unsigned workers; /* their producer numbers in resolver_defer: 0 to workers - 1 */
    const struct query_tap *tap;
    struct client_counts *clients; /* the thread's; NULL: the tap never counts them */
    struct dnstap *dnstap;         /* for questions to upstreams; NULL: none */
    bool want_skydns_metrics;
};

/* Makes the resolver. Fails without descriptors for its loop, or when the CA file cannot be read.
 */
int resolver_new(const struct resolver_config *config, struct resolver **ret_resolver,
                 struct err *err) MUST_CHECK;

/* Sets how upstreams are asked (forwarder.h). The upstreams themselves are in the configuration
 * that the publisher publishes (engine_config.h). Call this after they changed, too, so that they
 * are read before the next query. Any thread. */
void resolver_set_rules(struct resolver *resolver, const struct forwarder_rules *rules);

/* Begins to drop what the response cache has of a name (cache.h), in portions between which the
 * thread answers. Returns the flush's number; 0: another one is under way. */
struct cache_flush;
uint64_t resolver_flush(struct resolver *resolver, const struct cache_flush *flush);

/* Returns whether the flush is over, and then how many responses it has dropped; 0 if others came
 * after it. Any thread, as the one above. */
bool resolver_flush_is_over(struct resolver *resolver, uint64_t number, uint64_t *ret_dropped);

/* Starts its thread and the pools' threads. Fails when one cannot be started; then none runs. */
int resolver_start(struct resolver *resolver, struct err *err) MUST_CHECK;

/* Returns the number of a producer besides the workers, at most RESOLVER_PRODUCERS_MAX. Before the
 * start. */
unsigned resolver_add_producer(struct resolver *resolver);

/* Return the thread's loop and turns, for other code that answers on it (plain_tcp.h). Borrowed. */
struct ev_loop *resolver_loop(struct resolver *resolver);
struct turn *resolver_turn(struct resolver *resolver);

/* Notes connections of the loop: those open now, whether there will be more, and those closed to
 * make room since the start. resolver_stop waits for all of them, too. The thread, before it
 * sleeps. */
void resolver_note_connections(struct resolver *resolver, size_t count, bool are_accepted,
                               uint64_t evictions);

/* Defers a copy of the query. Returns false when there is no room; the caller answers SERVFAIL. For
 * threads that answer, each with its own number. */
bool resolver_defer(struct resolver *resolver, unsigned producer, const struct engine_query *query,
                    enum engine_deferral_kind kind,
                    const struct deferred_origin *origin) MUST_CHECK;

/* Does the same for the refresh of a cached response. When it returns false, that just expires. */
bool resolver_defer_refresh(struct resolver *resolver, unsigned producer,
                            const struct engine_query *query,
                            const struct question *question) MUST_CHECK;

/* Returns how many more queries resolver_defer takes. The same threads. */
size_t resolver_room(const struct resolver *resolver, unsigned producer);

/* Finishes the deferred queries within RESOLVER_DRAIN_MS, and ends the thread. Call it when neither
 * worker nor streams run any more, and after plain_tcp_stop. Does nothing if it never started. */
void resolver_stop(struct resolver *resolver);

void resolver_free(struct resolver *resolver); /* stopped; NULL is fine */

/* Written by the resolver's thread. */
struct resolver_counts {
    /* Since the start: */
    struct query_counts udp; /* late responses; the workers count the queries */
    struct query_counts tcp;
    struct counter forwarded;       /* clients' queries forwarded */
    struct counter lookups;         /* questions of our own sent */
    struct counter failures;        /* of both: no usable answer, or not sent */
    struct counter not_allowed;     /* clients' queries refused: recursion.h */
    struct counter evictions;       /* TCP connections closed to make room */
    struct counter flushed;         /* responses that resolver_flush dropped from the cache */
    struct counter signing;         /* queries passed to the signers, */
    struct counter signing_refused; /* and those of them without a place or too late */

    /* Now: */
    struct counter in_hand;     /* deferred queries */
    struct counter connections; /* TCP, when the thread last went to sleep */

    const struct forwarder_counts *forwarder;
    const struct upstream_figures *upstreams; /* of each upstream */
    const struct tls_pool_counts *tls;        /* to upstreams */
    size_t engine_count;                      /* of this thread, the walker and the signers */
    const struct engine_counts *engines[2 + POOL_THREADS_MAX];
};

/* Reads the state of the upstreams of the zone with this serial (zone_table.h). Returns false when
 * none was asked. Any thread. */
bool resolver_zone_state(const struct resolver *resolver, uint32_t serial,
                         struct upstream_states *ret);

/* Finds why the last response to a question was not cached. Returns false when that is not known.
 * Any thread. */
bool resolver_uncached(const struct resolver *resolver, const struct cache_key *key,
                       struct fetcher_uncached *ret);

/* Any thread; borrowed. */
const struct resolver_counts *resolver_counts(const struct resolver *resolver);

#endif
