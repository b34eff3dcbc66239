/* Makes the answers that others must not wait for, on threads of their own. There are two pools:
 *
 *     the walker    one thread, for answers that visit thousands of records (ENGINE_DEFER_SCAN)
 *     the signers   for answers that need new signatures (ENGINE_DEFER_SIGN), at a low priority: a
 *                   flood of them leaves the processors to answers that can be given at once
 *
 * Either makes the signatures that it needs. Each thread has an engine and a reader of its own, and
 * answers one query after another, from the version current when it begins. The walker's engine
 * caches finished subtree scans of that version (scan_cache_internal.h), so that asking again costs
 * none.
 *
 *     resolver's thread                         a pool's thread
 *     answer_pool_push(query) -- queue -->      engine_answer, with may_sign
 *     answer_pool_pop <-- finished --           config.wake
 *
 * Clients take turns (fair_queue.h): one that asks for many waits for them, one that asks for one
 * does not. An answer takes POOL_ANSWER_MS at most. None begins after POOL_WAIT_MS in the queue,
 * when its client has asked again. Both are refused. The resolver limits how many are pushed
 * (resolver.h), and so also how many wait to be popped. Nothing here sends or counts. */
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
    POOL_ANSWER_MS = 1000, /* twenty times a subtree scan of a domain with 30,000 services */
    POOL_WAIT_MS = 4000,   /* most clients give up after 5 s */
    POOL_THREADS_MAX = 4,  /* of one pool */
};

/* A query, and then its result. The resolver owns it except while it is pushed. */
struct pooled_query {
    struct fair_item turn; /* the pool's, like the next two */
    TAILQ_ENTRY(pooled_query) entry;
    int64_t pushed_ms; /* clock_monotonic_ms */

    void *data; /* the pusher's alone, also while it is pushed */

    /* The result has the revision of the records that led to its questions. If it is pushed again
     * with their outcomes (pooled_query_set_externals), it keeps that revision. */
    int64_t revision;
    size_t external_count;
    struct external_answer *externals; /* owned; NULL: the first time */
    struct buf packed;                 /* their records */

    /* The result. Refused: it came too late, or the records that led to its outcomes have changed.
     * DEFER has a kind that this pool does not answer: a LOOKUP, the other pool's, or one that a
     * later candidate name waits for. */
    bool is_refused;
    enum engine_verdict verdict;
    struct engine_deferral *deferral; /* owned; with DEFER, and with REPLY if it wants_refresh */
    struct response response;         /* owns its bytes */

    struct owned_query query;
};

/* Makes a copy of the query. */
struct pooled_query *pooled_query_new(const struct owned_query *query, void *data);
void pooled_query_free(struct pooled_query *query); /* NULL is fine */

/* Copies the outcomes of the questions that records of this revision led to. Call it once. */
void pooled_query_set_externals(struct pooled_query *query, const struct external_answer *answers,
                                size_t count, int64_t revision);

/* One thread's engine and reader; borrowed, and that thread's alone. */
struct answer_lane {
    struct engine *engine;
    struct publisher_reader *reader;
};

struct answer_pool_config {
    const char *name; /* of the threads: at most 15 bytes */
    const struct answer_lane *lanes;
    unsigned lane_count;         /* 1 to POOL_THREADS_MAX threads */
    bool may_scan;               /* the walker */
    int nice;                    /* threads.h; 0: no lower priority */
    uint32_t answer_ms, wait_ms; /* those above; longer in tests */
    void (*wake)(void *data);    /* on a thread of the pool: pop until there is nothing */
    void *data;
};

struct answer_pool *answer_pool_new(const struct answer_pool_config *config);
int answer_pool_start(struct answer_pool *pool, struct err *err) MUST_CHECK;

/* Drops the queued queries, ends the current answers, and the threads. Does nothing if they never
 * started. Any thread but the pool's. */
void answer_pool_stop(struct answer_pool *pool);

void answer_pool_free(struct answer_pool *pool); /* stopped; NULL is fine */

/* Takes the query over, which may be another pool's result. The resolver's thread. */
void answer_pool_push(struct answer_pool *pool, struct pooled_query *query);

/* Gives back a finished query; NULL: none. The resolver's thread. */
struct pooled_query *answer_pool_pop(struct answer_pool *pool);

#endif
