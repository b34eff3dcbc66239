#include "common/tls/tls_handshakes.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/privileges.h"
#include "common/base/threads.h"
#include "common/base/xalloc.h"

enum {
    THREADS_MAX = 16,
    NICE = 10, /* a tenth of a processor that is busy with answers */
};

TAILQ_HEAD(job_list, tls_handshake_job);

struct tls_handshakes {
    struct tls_handshakes_config config;
    pthread_t threads[THREADS_MAX];
    unsigned started;

    pthread_mutex_t lock; /* for all below */
    pthread_cond_t pushed;
    struct fair_queue queue;
    struct job_list finished;
    size_t untold;        /* of those finished, since the caller was woken */
    int64_t untold_at_us; /* since when the first of those waits */
    bool is_stopping;
};

/* Returns the next client's first job; NULL: none waits. Needs the lock. */
static struct tls_handshake_job *tls_handshakes_dequeue(struct tls_handshakes *pool)
{
    return (struct tls_handshake_job *)(void *)fair_queue_pop(&pool->queue); /* first member */
}

/* ---- The threads ---- */

static void tls_handshakes_step(struct tls_handshake_job *job)
{
    job->err.code = 0;
    job->want = TLS_WANT_READ;
    if (atomic_load_explicit(&job->is_unwanted, memory_order_relaxed)) {
        return;
    }
    int r = tls_session_handshake(job->session, &job->want, &job->err);
    job->err.code = r;
}

static void add_finished(struct tls_handshakes *pool, struct tls_handshake_job *job, int64_t now_us)
{
    TAILQ_INSERT_TAIL(&pool->finished, job, entry);
    if (pool->untold++ == 0) {
        pool->untold_at_us = now_us;
    }
}

/* Returns true if the caller is to be woken now; needs the lock. The caller's thread runs before
 * ours, and each time costs us two switches. So it gets what has finished together, unless one more
 * step like the last one would make that late. */
static bool must_tell(struct tls_handshakes *pool, int64_t now_us, int64_t step_us)
{
    return pool->untold > 0 &&
           (TAILQ_EMPTY(&pool->queue.turns) || pool->untold >= TLS_TOGETHER_MAX ||
            now_us - pool->untold_at_us + step_us > TLS_TOGETHER_US);
}

static void tls_handshakes_wake_owner(struct tls_handshakes *pool)
{
    pool->untold = 0;
    (void)pthread_mutex_unlock(&pool->lock); /* as below */
    pool->config.wake(pool->config.data);
    (void)pthread_mutex_lock(&pool->lock);
}

/* Hands the last job back (NULL: none), which took so long, and returns the next one; NULL: the
 * thread ends. */
static struct tls_handshake_job *tls_handshakes_exchange(struct tls_handshakes *pool,
                                                         struct tls_handshake_job *last,
                                                         int64_t begun_us)
{
    struct tls_handshake_job *next = NULL;
    int64_t now_us = clock_monotonic_us();
    (void)pthread_mutex_lock(&pool->lock); /* cannot fail: a plain mutex, not held */
    if (last) {
        add_finished(pool, last, now_us);
    }
    while (!pool->is_stopping && !next) {
        if (must_tell(pool, now_us, now_us - begun_us)) {
            tls_handshakes_wake_owner(
                pool); /* releases the lock for a moment: all is checked again */
        } else if (!(next = tls_handshakes_dequeue(pool))) {
            (void)pthread_cond_wait(&pool->pushed, &pool->lock); /* cannot fail: it is held */
        }
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return next;
}

static void *tls_handshakes_run(void *data)
{
    struct tls_handshakes *pool = data;
    struct tls_handshake_job *job = NULL;
    int64_t begun_us = clock_monotonic_us();
    low_priority_thread(NICE);
    privileges_drop_thread();
    (void)pthread_setname_np(pthread_self(), "handshake"); /* for top and gdb only */
    while ((job = tls_handshakes_exchange(pool, job, begun_us))) {
        begun_us = clock_monotonic_us();
        tls_handshakes_step(job);
    }
    return NULL;
}

/* ---- Other threads ---- */

struct tls_handshakes *tls_handshakes_new(const struct tls_handshakes_config *config)
{
    assert(config->threads >= 1 && config->threads <= THREADS_MAX);
    struct tls_handshakes *pool = xcalloc(1, sizeof(*pool));
    pool->config = *config;
    (void)pthread_mutex_init(&pool->lock, NULL);  /* cannot fail without attributes */
    (void)pthread_cond_init(&pool->pushed, NULL); /* likewise */
    fair_queue_init(&pool->queue);
    TAILQ_INIT(&pool->finished);
    return pool;
}

unsigned tls_handshakes_threads(const struct tls_handshakes *pool)
{
    return pool->config.threads;
}

int tls_handshakes_start(struct tls_handshakes *pool, struct err *err)
{
    while (pool->started < pool->config.threads) {
        int r = -pthread_create(&pool->threads[pool->started], NULL, tls_handshakes_run, pool);
        if (r < 0) {
            tls_handshakes_stop(pool);
            return err_set(err, r, "start the threads of TLS handshakes: %s", err_code_text(r));
        }
        pool->started++;
    }
    return 0;
}

void tls_handshakes_stop(struct tls_handshakes *pool)
{
    struct tls_handshake_job *job;
    (void)pthread_mutex_lock(&pool->lock); /* as above */
    pool->is_stopping = true;
    (void)pthread_cond_broadcast(&pool->pushed); /* cannot fail */
    (void)pthread_mutex_unlock(&pool->lock);
    while (pool->started > 0) {
        (void)pthread_join(pool->threads[--pool->started], NULL); /* cannot fail for ours */
    }
    (void)pthread_mutex_lock(&pool->lock);
    while ((job = tls_handshakes_dequeue(pool))) {
        TAILQ_INSERT_TAIL(&pool->finished, job, entry);
    }
    (void)pthread_mutex_unlock(&pool->lock);
}

void tls_handshakes_free(struct tls_handshakes *pool)
{
    if (pool) {
        assert(TAILQ_EMPTY(&pool->finished));
        fair_queue_fini(&pool->queue);
        (void)pthread_cond_destroy(&pool->pushed); /* no thread waits */
        (void)pthread_mutex_destroy(&pool->lock);  /* no thread holds it */
        free(pool);
    }
}

void tls_handshakes_push(struct tls_handshakes *pool, struct tls_handshake_job *job)
{
    (void)pthread_mutex_lock(&pool->lock); /* as above */
    fair_queue_push(&pool->queue, &job->turn);
    (void)pthread_cond_signal(&pool->pushed); /* cannot fail */
    (void)pthread_mutex_unlock(&pool->lock);
}

struct tls_handshake_job *tls_handshakes_pop(struct tls_handshakes *pool)
{
    (void)pthread_mutex_lock(&pool->lock); /* as above */
    struct tls_handshake_job *job = TAILQ_FIRST(&pool->finished);
    if (job) {
        TAILQ_REMOVE(&pool->finished, job, entry);
    } else {
        pool->untold = 0;
    }
    (void)pthread_mutex_unlock(&pool->lock);
    return job;
}
