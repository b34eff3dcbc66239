/* The resolver's internals, shared by resolver.c (thread, rings, life cycle) and resolver_work.c
 * (queries in hand). All fields are the resolver thread's unless noted. */
#ifndef SKYDNS_SERVE_RESOLVER_INTERNAL_H
#define SKYDNS_SERVE_RESOLVER_INTERNAL_H

#include <ev.h>
#include <pthread.h>

#include "common/base/buf.h"
#include "skydns/answer/deferral.h"
#include "skydns/answer/external_answer.h"
#include "skydns/serve/client_loads_internal.h"
#include "skydns/serve/deferred.h"
#include "skydns/serve/resolver.h"
#include "skydns/store/rng.h"
#include "skydns/upstream/upstreams.h"

struct forwarder;
struct loop_check;
struct tcp_server;
struct walk;
struct walker;

/* The external questions of one query, and what has become of each so far. */
struct lookup {
    struct deferred *deferred;
    int64_t revision;  /* of the records that led to the questions */
    size_t waiting;    /* questions in flight */
    struct buf packed; /* records of all items; its limit: RESOLVER_LOOKUPS_MAX */
    size_t count;
    struct lookup_item {
        struct lookup *lookup;
        struct external_question question;
        enum external_outcome outcome;
        size_t packed_at, packed_len;
    } items[];
};

TAILQ_HEAD(deferred_list, deferred);

struct resolver {
    struct resolver_counts counts;
    struct resolver_config config;
    struct ev_loop *loop;
    pthread_t thread;
    bool started;
    bool draining;
    ev_async wake; /* something is in a ring */
    ev_async stop;
    ev_timer drain_timer;
    ev_check check;
    ev_prepare prepare;
    struct tcp_server *tcp;
    struct forwarder *forwarder;
    struct loop_check *loop_check;
    int64_t refusal_told_ms; /* when a refused client was last logged; 0 = never */

    /* From the main thread: the nameservers to use from now on. */
    pthread_mutex_t servers_lock;
    ev_async servers_changed;
    struct resolver_nameservers nameservers;

    struct deferred_ring **rings; /* the workers', then the TCP server's */
    bool rings_pending;           /* the last turn may have left queries in one */

    bool entered;              /* from check to prepare: while callbacks run */
    const struct store *store; /* while entered: this turn's version */
    unsigned expensive_left;   /* answers of more than ENGINE_BRIEF_MAX visits, this turn */
    struct deferred_list in_hand;
    struct client_loads *loads; /* of them, by client */
    struct walker *walker;
    ev_async walked;                            /* it has finished something */
    struct deferred *walks[RESOLVER_WALKS_MAX]; /* of those in hand, what the walker has */
    size_t walk_count;
    size_t lookup_count;
    struct client_loads *lookup_loads; /* of them, by client */
    struct rng rng;

    /* The last external reply, reduced: all who share it get a copy. */
    struct {
        uint64_t number; /* forwarder_reply_number; 0: none */
        enum external_outcome outcome;
        struct buf packed; /* one reply always fits EXTERNAL_PACKED_MAX */
    } reduced;

    /* Scratch of one call. */
    struct engine_deferral deferral;
    struct external_answer answers[ENGINE_EXTERNAL_MAX];
    uint8_t reply[ENGINE_REPLY_MAX];
};

/* ---- resolver_work.c ---- */

/* engine_answer, on this turn's version; what is too expensive for the rest of the turn is deferred
 * for WALK. */
enum engine_verdict resolver_answer(struct resolver *resolver, const struct engine_query *query,
                                    const struct external_answers *externals, uint8_t *reply,
                                    size_t *ret_len);

/* Takes back what the walker has finished: replies, or looks up names. */
void resolver_walked(struct resolver *resolver);

/* Puts the query in hand; resolver_begin or resolver_refuse must follow. False: its client has too
 * many, and it must be refused. */
bool resolver_take(struct resolver *resolver, struct deferred *deferred);

/* Answers it now, or once nameservers have. */
void resolver_begin(struct resolver *resolver, struct deferred *deferred);

/* SERVFAIL. */
void resolver_refuse(struct resolver *resolver, struct deferred *deferred);

/* Frees it without an answer. */
void resolver_release(struct resolver *resolver, struct deferred *deferred);

#endif
