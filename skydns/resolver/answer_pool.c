#include "skydns/resolver/answer_pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/privileges.h"
#include "common/base/threads.h"
#include "common/base/xalloc.h"
#include "skydns/engine/engine.h"
#include "skydns/publish/publisher.h"
#include "skydns/records/rng.h"
#include "skydns/upstream/external.h"

TAILQ_HEAD(query_list, pooled_query);

/* A pool's thread. All but the first three fields are the thread's own. */
struct pool_thread {
    struct answer_pool *pool;
    struct answer_lane lane;
    pthread_t thread;
    struct rng rng;
    int64_t ends_ms; /* deadline of the current answer */
    struct engine_deferral deferral;
    uint8_t reply[ENGINE_REPLY_MAX];
};

struct answer_pool {
    struct answer_pool_config config;
    unsigned started;
    _Atomic bool is_stopping;
    struct pool_thread *threads;

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t pushed;
    struct fair_queue queue;
    struct query_list finished;
};

struct pooled_query *pooled_query_new(const struct owned_query *query, void *data)
{
    const size_t size = owned_query_size(query);
    assert(offsetof(struct pooled_query, query) + size >= sizeof(struct pooled_query));
    struct pooled_query *q = xcalloc(1, offsetof(struct pooled_query, query) + size);
    q->turn.net = client_net_of(&query->client);
    q->data = data;
    memcpy(&q->query, query, size);
    buf_init(&q->packed, EXTERNAL_PACKED_MAX);
    return q;
}

void pooled_query_free(struct pooled_query *query)
{
    if (!query) {
        return;
    }
    buf_fini(&query->packed);
    free(query->externals);
    free(query->deferral);
    free(query->response.bytes);
    free(query);
}

void pooled_query_set_externals(struct pooled_query *query, const struct external_answer *answers,
                                size_t count, int64_t revision)
{
    size_t at = 0;
    query->revision = revision;
    query->external_count = count;
    query->externals = xcalloc(count, sizeof(query->externals[0]));
    for (size_t i = 0; i < count; i++) {
        buf_append_slice(&query->packed, answers[i].records);
    }
    for (size_t i = 0; i < count; i++) { /* now that they stay at their addresses */
        query->externals[i] = answers[i];
        query->externals[i].records = slice_of(query->packed.data + at, answers[i].records.len);
        at += answers[i].records.len;
    }
}

/* ---- The pool's threads ---- */

static bool is_late(void *data)
{
    const struct pool_thread *t = data;
    return atomic_load_explicit(&t->pool->is_stopping, memory_order_relaxed) ||
           clock_monotonic_ms() >= t->ends_ms;
}

static bool pooled_is_outdated(struct pool_thread *t, const struct store *store,
                               struct engine_query *query, const struct pooled_query *q,
                               const struct external_answers *externals)
{
    struct response response = {.bytes = t->reply};
    return store && store_revision(store) != q->revision &&
           engine_outdates(
               engine_answer(t->lane.engine, store, query, NULL, &response, &t->deferral),
               &t->deferral, externals);
}

/* Returns whether another thread can complete the answer: upstreams or the walker, or the one that
 * the search list's next candidate name waits for. Else the name has left the domain meanwhile. */
static bool goes_on(const struct pool_thread *t, const struct pooled_query *q)
{
    if (t->deferral.search_list_at > q->query.search_list_at) {
        return true;
    }
    return t->deferral.kind == ENGINE_DEFER_LOOKUP
               ? !q->externals
               : t->deferral.kind == ENGINE_DEFER_SCAN && !t->pool->config.may_scan;
}

static void answer_pool_answer(struct pool_thread *t, const struct store *store,
                               struct engine_query *query, struct pooled_query *q)
{
    const struct external_answers externals = {.count = q->external_count, .items = q->externals};
    if (q->externals &&
        pooled_is_outdated(t, store, query, q, &externals)) { /* the client should ask again */
        q->is_refused = true;
        return;
    }
    struct response response = {.bytes = t->reply};
    q->revision = store ? store_revision(store) : 0;
    q->verdict = engine_answer(t->lane.engine, store, query, q->externals ? &externals : NULL,
                               &response, &t->deferral);
    if (q->verdict == ENGINE_REPLY) {
        q->response = response;
        q->response.bytes = xmalloc(response.len);
        memcpy(q->response.bytes, response.bytes, response.len);
    }
    if (q->verdict == ENGINE_DEFER && !goes_on(t, q)) { /* the client should retry */
        q->is_refused = true;
    } else if (q->verdict == ENGINE_DEFER ||
               (q->verdict == ENGINE_REPLY && t->deferral.wants_refresh)) {
        q->deferral = xmalloc(sizeof(*q->deferral));
        *q->deferral = t->deferral;
    }
}

static void answer_pool_take_query(struct pool_thread *t, struct pooled_query *q)
{
    const struct answer_pool_config *config = &t->pool->config;
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms - q->pushed_ms >= config->wait_ms) {
        q->is_refused = true;
        return;
    }
    t->ends_ms = now_ms + config->answer_ms;
    struct engine_query query =
        owned_query_open(&q->query, clock_wall_s(), now_ms, rng_next(&t->rng));
    query.may_scan = config->may_scan;
    query.may_sign = true;
    query.is_late = is_late;
    query.is_late_data = t;
    const struct store *store = publisher_enter(t->lane.reader);
    engine_configure(t->lane.engine, publisher_config(t->lane.reader));
    answer_pool_answer(t, store, &query, q);
    publisher_leave(t->lane.reader);
}

/* Takes the next client's first query; NULL: none waits. With the lock. */
static struct pooled_query *answer_pool_dequeue(struct answer_pool *pool)
{
    return (struct pooled_query *)(void *)fair_queue_pop(&pool->queue); /* first member */
}

/* Returns the next query; NULL: the thread ends. */
static struct pooled_query *next_query(struct answer_pool *pool)
{
    struct pooled_query *query = NULL;
    (void)pthread_mutex_lock(&pool->lock); /* cannot fail: a plain mutex, not held */
    while (!atomic_load_explicit(&pool->is_stopping, memory_order_relaxed) &&
           !(query = answer_pool_dequeue(pool))) {
        (void)pthread_cond_wait(&pool->pushed, &pool->lock); /* cannot fail: the lock is held */
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return query;
}

/* Hands back a finished query. Wakes for the first only: a pop takes all. */
static void answer_pool_finish(struct answer_pool *pool, struct pooled_query *query)
{
    (void)pthread_mutex_lock(&pool->lock); /* as above */
    bool is_first = TAILQ_EMPTY(&pool->finished);
    TAILQ_INSERT_TAIL(&pool->finished, query, entry);
    (void)pthread_mutex_unlock(&pool->lock);
    if (is_first) {
        pool->config.wake(pool->config.data);
    }
}

static void *answer_pool_run(void *data)
{
    struct pool_thread *t = data;
    struct pooled_query *query;
    if (t->pool->config.nice) {
        low_priority_thread(t->pool->config.nice);
    }
    privileges_drop_thread();
    (void)pthread_setname_np(pthread_self(), t->pool->config.name); /* for top and gdb only */
    while ((query = next_query(t->pool))) {
        answer_pool_take_query(t, query);
        answer_pool_finish(t->pool, query);
    }
    return NULL;
}

/* ---- Other threads ---- */

struct answer_pool *answer_pool_new(const struct answer_pool_config *config)
{
    struct answer_pool *pool = xcalloc(1, sizeof(*pool));
    assert(config->lane_count >= 1 && config->lane_count <= POOL_THREADS_MAX);
    pool->config = *config;
    pool->threads = xcalloc(config->lane_count, sizeof(pool->threads[0]));
    for (unsigned i = 0; i < config->lane_count; i++) {
        pool->threads[i].pool = pool;
        pool->threads[i].lane = config->lanes[i];
        rng_seed(&pool->threads[i].rng);
    }
    (void)pthread_mutex_init(&pool->lock, NULL);  /* cannot fail without attributes */
    (void)pthread_cond_init(&pool->pushed, NULL); /* likewise */
    fair_queue_init(&pool->queue);
    TAILQ_INIT(&pool->finished);
    return pool;
}

int answer_pool_start(struct answer_pool *pool, struct err *err)
{
    while (pool->started < pool->config.lane_count) {
        struct pool_thread *next = &pool->threads[pool->started];
        int r = -pthread_create(&next->thread, NULL, answer_pool_run, next);
        if (r < 0) {
            answer_pool_stop(pool);
            return err_set(err, r, "start a %s: %s", pool->config.name, err_code_text(r));
        }
        pool->started++;
    }
    return 0;
}

void answer_pool_stop(struct answer_pool *pool)
{
    (void)pthread_mutex_lock(&pool->lock); /* as above */
    atomic_store_explicit(&pool->is_stopping, true, memory_order_relaxed);
    (void)pthread_cond_broadcast(&pool->pushed); /* cannot fail */
    (void)pthread_mutex_unlock(&pool->lock);
    while (pool->started > 0) {
        (void)pthread_join(pool->threads[--pool->started].thread, NULL); /* cannot fail for ours */
    }
}

void answer_pool_free(struct answer_pool *pool)
{
    struct pooled_query *query;
    if (!pool) {
        return;
    }
    while ((query = answer_pool_dequeue(pool)) || (query = answer_pool_pop(pool))) {
        pooled_query_free(query);
    }
    fair_queue_fini(&pool->queue);
    (void)pthread_cond_destroy(&pool->pushed); /* no thread waits */
    (void)pthread_mutex_destroy(&pool->lock);  /* no thread holds it */
    free(pool->threads);
    free(pool);
}

/* Frees the result of a query that goes on. */
static void forget_result(struct pooled_query *query)
{
    free(query->deferral);
    free(query->response.bytes);
    query->deferral = NULL;
    query->response = (struct response){0};
    query->is_refused = false;
}

void answer_pool_push(struct answer_pool *pool, struct pooled_query *query)
{
    forget_result(query);
    query->pushed_ms = clock_monotonic_ms();
    (void)pthread_mutex_lock(&pool->lock); /* as above */
    fair_queue_push(&pool->queue, &query->turn);
    (void)pthread_cond_signal(&pool->pushed); /* cannot fail */
    (void)pthread_mutex_unlock(&pool->lock);
}

struct pooled_query *answer_pool_pop(struct answer_pool *pool)
{
    (void)pthread_mutex_lock(&pool->lock); /* as above */
    struct pooled_query *query = TAILQ_FIRST(&pool->finished);
    if (query) {
        TAILQ_REMOVE(&pool->finished, query, entry);
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return query;
}
