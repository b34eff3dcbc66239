/* Holds the state that the resolver's files share. resolver.c has the thread, rings and life cycle,
 * and resolver_work.c the waiting queries. resolver_pools.c has those that the walker and the
 * signers answer, and resolver_lookup.c those whose external names are looked up. All fields are
 * the resolver thread's unless noted. */
#ifndef SKYDNS_RESOLVER_RESOLVER_INTERNAL_H
#define SKYDNS_RESOLVER_RESOLVER_INTERNAL_H

#include <ev.h>
#include <pthread.h>

#include "common/base/buf.h"
#include "common/base/fair_queue.h"
#include "skydns/external/cache.h"
#include "skydns/resolver/deferred.h"
#include "skydns/resolver/resolver.h"
#include "skydns/resolver/turn.h"
#include "skydns/upstream/fetcher.h"
#include "skydns/upstream/forwarder.h"
#include "skydns/wire/deferral.h"
#include "skydns/wire/external_answer.h"
#include "skydns/wire/response.h"

struct answer_pool;
struct loop_check;
struct tls_pool;

/* The external questions of one query, and their outcomes so far. */
struct lookup {
    struct deferred *deferred;
    int64_t revision;  /* of the records that led to the questions */
    size_t waiting;    /* outstanding questions */
    struct buf packed; /* records of all items; its limit: RESOLVER_LOOKUPS_MAX */
    size_t count;
    struct lookup_item {
        struct lookup *lookup;
        struct external_question question;
        struct forwarder_wait wait; /* for its response */
        enum external_outcome outcome;
        bool is_nxdomain; /* external_answer's, like the next */
        uint32_t denial_ttl_s;
        size_t packed_at, packed_len;
    } items[];
};

TAILQ_HEAD(deferred_list, deferred);

/* The walker or the signers, and the queries that they have. */
struct resolver_pool {
    struct answer_pool *pool;
    size_t count;
    struct client_loads *loads; /* of these, by client */
};

/* A flush of the response cache, one at a time. */
struct resolver_flush {
    uint64_t begun, ended, dropped; /* under the resolver's lock */
    struct cache_flush what;        /* the thread's, from the begin to the end */
    size_t at;                      /* the thread's */
    ev_async step;
};

struct resolver {
    struct resolver_counts counts;
    struct resolver_config config;
    struct ev_loop *loop;
    pthread_t thread;
    bool started;
    bool draining;
    bool accepts_connections; /* resolver_note_connections */
    ev_async wake;            /* something is in a ring */
    ev_async stop;
    ev_timer drain_timer;
    ev_check check;
    ev_prepare prepare;
    struct turn turn;
    struct tls_pool *tls; /* to upstreams */
    struct fetcher *fetcher;
    struct loop_check *loop_check;
    uint32_t checked_serial; /* of the upstreams that it checks, */
    unsigned checked_ndots;  /* and of the names it asks about; 0: none */
    int64_t refusal_told_ms; /* when a refused client was last logged; 0: never */

    /* From the main thread: */
    pthread_mutex_t lock; /* of the next ones, but for what is the thread's */
    ev_async rules_changed;
    struct forwarder_rules rules;
    struct resolver_flush flush;

    /* The workers', the TCP server's, and the streams': */
    struct deferred_ring **rings;
    unsigned ring_count;
    bool rings_pending; /* the last turn may have left queries in one */

    struct deferred_list in_hand;
    struct client_loads *loads;   /* of them, by client */
    struct deferred_list patient; /* of them, those that wait for upstreams; oldest first */
    ev_timer timeout;             /* until the first of these takes a stale answer */
    struct resolver_pool walker, signers;
    ev_async pooled; /* one of them has finished something */
    size_t lookup_count;
    struct client_loads *lookup_loads; /* of them, by client */

    /* Scratch of one call: */
    struct external_answer answers[ENGINE_EXTERNAL_MAX];
    uint8_t reply[ENGINE_REPLY_MAX];
    struct response response; /* of these bytes */
};

/* ---- resolver_work.c ---- */

/* Puts the query among the deferred ones; resolver_begin or resolver_refuse must follow. Returns
 * false when its client has too many, and it must be refused. */
bool resolver_take(struct resolver *resolver, struct deferred *deferred);

/* Answers the query now, or once upstreams have. */
void resolver_begin(struct resolver *resolver, struct deferred *deferred);

/* Goes on with a query that the engine has deferred again: at a later candidate name, as the turn's
 * deferral says, or for signatures, which nothing here can replace. Returns false, and does
 * nothing, when it is neither. */
bool resolver_goes_on(struct resolver *resolver, struct deferred *deferred) MUST_CHECK;

/* Answers when DNS64 has found no IPv4 address either. The upstream's answer about AAAA is gone by
 * now, so asks for it once more. If that was a failure (has_failed), answers SERVFAIL unless
 * another name of the search list answers. */
void resolver_answer_unmapped(struct resolver *resolver, struct deferred *deferred,
                              bool has_failed);

/* Answers REFUSED, since the client may not query external names. */
void resolver_refuse_recursion(struct resolver *resolver, struct deferred *deferred);

/* Answers SERVFAIL. */
void resolver_refuse(struct resolver *resolver, struct deferred *deferred);

/* Refreshes the cached response to this question. */
void resolver_refresh(struct resolver *resolver, const struct question *question);

/* Ends the wait of the queries that have reached the stale timeout. */
void resolver_time_out(struct resolver *resolver);

/* Frees the query without an answer. */
void resolver_release(struct resolver *resolver, struct deferred *deferred);

/* Ends the query with this response, or with none. */
void resolver_finish(struct resolver *resolver, struct deferred *deferred,
                     const struct response *response);
void resolver_drop(struct resolver *resolver, struct deferred *deferred);

/* Returns true, and drops the query, when its connection is closed, so that no client can have its
 * response. Called before a response is made for a query that has waited. */
bool resolver_drop_if_gone(struct resolver *resolver, struct deferred *deferred);

/* Stores the candidate name that waits, as the turn's deferral says. */
void resolver_keep_place(struct resolver *resolver, struct deferred *deferred);

/* Lets the query wait for upstreams: after stale_wait_ms a stale answer will do. */
void resolver_be_patient(struct resolver *resolver, struct deferred *deferred);
void resolver_be_patient_no_more(struct resolver *resolver, struct deferred *deferred);

/* Returns the query as the engine takes it; borrows from the deferred one. */
struct engine_query resolver_query(struct resolver *resolver, const struct deferred *deferred);

/* ---- resolver_pools.c ---- */

/* Make the pools, start and stop their threads, and free them. */
void resolver_open_pools(struct resolver *resolver);
int resolver_start_pools(struct resolver *resolver, struct err *err) MUST_CHECK;
void resolver_stop_pools(struct resolver *resolver); /* started or not */
void resolver_free_pools(struct resolver *resolver);

/* Passes the query to the walker, or to the signers; with resolver->answers, `external_count` of
 * them, to the questions that records of this revision led to. */
void resolver_scan(struct resolver *resolver, struct deferred *deferred, size_t external_count,
                   int64_t revision);
void resolver_sign(struct resolver *resolver, struct deferred *deferred, size_t external_count,
                   int64_t revision);

/* Gives up the pool's copy of the query, if there is one. */
void resolver_leave_pool(struct resolver *resolver, struct deferred *deferred);

/* ---- resolver_lookup.c ---- */

/* Asks the questions in the turn's deferral, which records of this revision led to. */
void resolver_look_up(struct resolver *resolver, struct deferred *deferred, int64_t revision);

/* Asks for the name's IPv4 addresses if DNS64 may put them in the place of `reply`, the upstream's
 * answer about its AAAA (NULL: a failure). Returns false, and does nothing, if it may not. */
bool resolver_look_up_ipv4(struct resolver *resolver, struct deferred *deferred,
                           const struct dname *name,
                           const struct forwarder_reply *reply) MUST_CHECK;

/* Returns whether DNS64 may ask for IPv4 addresses, for the query at its place in the search list;
 * it does so once for each place. The second notes that it has. */
bool resolver_may_map(const struct resolver *resolver, const struct deferred *deferred);
void resolver_note_mapped(struct deferred *deferred);

/* Takes stale answers for the outstanding questions. */
void resolver_look_up_stale(struct resolver *resolver, struct deferred *deferred);

/* Answers the query when an upstream's response leads to a name of ours (fetcher_leads_home), with
 * the CNAMEs. Returns false when it does not. */
bool resolver_lead_home(struct resolver *resolver, struct deferred *deferred,
                        const struct forwarder_reply *reply) MUST_CHECK;

/* Ends the query's lookup, if there is one. */
void resolver_free_lookup(struct resolver *resolver, struct deferred *deferred);

#endif
