/* Threads for answers that others must not wait for. There are two pools of them:
 *
 *     the walker    one thread, for answers that visit thousands of records (ENGINE_DEFER_SCAN)
 *     the signers   for those whose signatures are to be made (ENGINE_DEFER_SIGN), at a low
 *                   priority: a flood of them leaves the processors to what is answered at once
 *
 * Either makes what signatures it needs. Each thread has an engine and a reader of its own and
 * answers one query after another, from the version current when it begins; the walker's engine
 * keeps finished walks of that version (scan_cache_internal.h), so that asking again costs none.
 *
 *     resolver's thread                         a pool's thread
 *     answer_pool_push(query) -- queue -->      engine_answer, with may_sign
 *     answer_pool_pop <-- finished --           config.wake
 *
 * Clients take turns (fair_queue.h): whoever asks for many waits for them, whoever asks for one
 * does not. An answer takes POOL_ANSWER_MS at most, and none begins after POOL_WAIT_MS in the
 * queue, when its client has asked again: both are refused. The resolver limits how many are pushed
 * (resolver.h), hence also what waits to be popped. Nothing here sends or counts. */
#ifndef SKYDNS_RESOLVER_ANSWER_POOL_H
#define SKYDNS_RESOLVER_ANSWER_POOL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/fair_queue.h"
#include "skydns/wire/deferral.h"
#include "skydns/wire/owned_query.h"
#include "skydns/wire/response.h"

struct answer_pool;
struct engine;
struct publisher_reader;

enum {
    POOL_ANSWER_MS = 1000, /* twenty times a walk of a domain with 30,000 services */
    POOL_WAIT_MS = 4000,   /* most clients give up after 5 s */
    POOL_THREADS_MAX = 4,  /* of one pool */
};

/* A query, and then its result. The resolver owns it but while it is pushed. */
struct pooled_query {
    struct fair_item turn; /* the pool's, like the next two */
    TAILQ_ENTRY(pooled_query) entry;
    int64_t pushed_ms; /* clock_monotonic_ms */

    void *data; /* the pusher's alone, also while it is pushed */

    /* The result has the revision of the records that led to its questions. Pushed again with
     * their outcomes, it still does: pooled_query_set_externals. */
    int64_t revision;
    size_t external_count;
    struct external_answer *externals; /* owned; NULL: the first time */
    struct buf packed;                 /* their records */

    /* The result. Refused: it came too late, or what led to its outcomes has changed. DEFER has
     * another kind than those the pool is for: a LOOKUP, the other pool's, or what a later place of
     * the query's search path waits for. */
    bool is_refused;
    enum engine_verdict verdict;
    struct engine_deferral *deferral; /* owned; of DEFER, and of REPLY if it wants_refresh */
    struct response response;         /* its bytes are owned */

    struct owned_query query;
};

/* Copies the query. */
struct pooled_query *pooled_query_new(const struct owned_query *query, void *data);
void pooled_query_free(struct pooled_query *query); /* NULL is fine */

/* Copies what became of the questions that records of this revision led to. Once. */
void pooled_query_set_externals(struct pooled_query *query, const struct external_answer *answers,
                                size_t count, int64_t revision);

/* Of one thread: borrowed, and its alone. */
struct answer_lane {
    struct engine *engine;
    struct publisher_reader *reader;
};

struct answer_pool_config {
    const char *name; /* of the threads: at most 15 bytes */
    const struct answer_lane *lanes;
    unsigned lane_count;         /* 1 to POOL_THREADS_MAX threads */
    bool may_scan;               /* the walker */
    int nice;                    /* low_priority.h; 0: as others */
    uint32_t answer_ms, wait_ms; /* those above; tests have more patience */
    void (*wake)(void *data);    /* on a thread of the pool: pop until there is nothing */
    void *data;
};

struct answer_pool *answer_pool_new(const struct answer_pool_config *config);
int answer_pool_start(struct answer_pool *pool, struct err *err) MUST_CHECK;

/* Drops what is queued, ends what goes on, and the threads. Does nothing if they never started. Any
 * thread but the pool's. */
void answer_pool_stop(struct answer_pool *pool);

void answer_pool_free(struct answer_pool *pool); /* stopped; NULL is fine */

/* The resolver's thread. Takes the query over, which may be another pool's result. */
void answer_pool_push(struct answer_pool *pool, struct pooled_query *query);

/* The resolver's thread: a finished one, given back; NULL: none. */
struct pooled_query *answer_pool_pop(struct answer_pool *pool);

#endif
