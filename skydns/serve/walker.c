#include "skydns/serve/walker.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/privileges.h"
#include "common/base/xalloc.h"
#include "skydns/answer/engine.h"
#include "skydns/store/publisher.h"
#include "skydns/store/rng.h"
#include "skydns/upstream/external.h"

TAILQ_HEAD(walk_list, walk);

struct walker {
    struct walker_config config;
    pthread_t thread;
    bool is_started;
    _Atomic bool is_stopping;

    pthread_mutex_t lock; /* of the two lists */
    pthread_cond_t pushed;
    struct walk_list queue;
    struct walk_list finished;

    /* The walker's thread. */
    struct rng rng;
    int64_t ends_ms; /* of the walk that goes on */
    uint8_t reply[ENGINE_REPLY_MAX];
};

struct walk *walk_new(const struct engine_query *query, void *data)
{
    struct walk *walk = xcalloc(1, sizeof(*walk) + query->len);
    walk->data = data;
    walk->client = *query->client;
    walk->local = *query->local;
    walk->net = client_net_of(query->client);
    walk->transport = query->transport;
    walk->path_at = query->path_at;
    walk->path_serial = query->path_serial;
    walk->path_has_failed = query->path_has_failed;
    walk->len = query->len;
    memcpy(walk->wire, query->wire, query->len);
    buf_init(&walk->packed, EXTERNAL_PACKED_MAX);
    return walk;
}

void walk_free(struct walk *walk)
{
    if (!walk) {
        return;
    }
    buf_fini(&walk->packed);
    free(walk->externals);
    free(walk->reply);
    free(walk);
}

void walk_set_externals(struct walk *walk, const struct external_answer *answers, size_t count,
                        int64_t revision)
{
    size_t at = 0;
    walk->revision = revision;
    walk->external_count = count;
    walk->externals = xcalloc(count, sizeof(walk->externals[0]));
    for (size_t i = 0; i < count; i++) {
        buf_append_slice(&walk->packed, answers[i].records);
    }
    for (size_t i = 0; i < count; i++) { /* now that they stay where they are */
        walk->externals[i] = answers[i];
        walk->externals[i].records = slice_of(walk->packed.data + at, answers[i].records.len);
        at += answers[i].records.len;
    }
}

/* ---- The walker's thread ---- */

static bool is_late(void *data)
{
    const struct walker *w = data;
    return atomic_load_explicit(&w->is_stopping, memory_order_relaxed) ||
           clock_monotonic_ms() >= w->ends_ms;
}

/* Whether the records have changed meanwhile and now point to names not asked about: without their
 * addresses, the answer would deny existing ones. */
static bool is_outdated(struct walker *w, const struct store *store,
                        const struct engine_query *query, struct walk *walk,
                        const struct external_answers *externals)
{
    size_t len;
    return store && store_revision(store) != walk->revision &&
           engine_answer(w->config.engine, store, query, NULL, w->reply, &len, &walk->deferral) ==
               ENGINE_DEFER &&
           walk->deferral.kind == ENGINE_DEFER_LOOKUP &&
           !external_answers_cover(externals, walk->deferral.questions,
                                   walk->deferral.question_count);
}

static void refuse(struct walk *walk)
{
    walk->verdict = ENGINE_DEFER;
    walk->deferral.kind = ENGINE_DEFER_WALK;
}

static void answer(struct walker *w, const struct store *store, const struct engine_query *query,
                   struct walk *walk)
{
    const struct external_answers externals = {.count = walk->external_count,
                                               .items = walk->externals};
    if (walk->externals && is_outdated(w, store, query, walk, &externals)) { /* ask again, please */
        refuse(walk);
        return;
    }
    walk->revision = store ? store_revision(store) : 0;
    walk->verdict =
        engine_answer(w->config.engine, store, query, walk->externals ? &externals : NULL, w->reply,
                      &walk->reply_len, &walk->deferral);
    if (walk->verdict == ENGINE_REPLY) {
        walk->reply = xmalloc(walk->reply_len);
        memcpy(walk->reply, w->reply, walk->reply_len);
    } else if (walk->verdict == ENGINE_DEFER && walk->deferral.path_at <= walk->path_at &&
               (walk->externals || walk->deferral.kind != ENGINE_DEFER_LOOKUP)) {
        refuse(walk); /* the name left the domain meanwhile: the client should retry */
    }
}

static void take_walk(struct walker *w, struct walk *walk)
{
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms - walk->pushed_ms >= w->config.wait_ms) {
        refuse(walk);
        return;
    }
    w->ends_ms = now_ms + w->config.walk_ms;
    const struct engine_query query = {
        .wire = walk->wire,
        .len = walk->len,
        .client = &walk->client,
        .local = &walk->local,
        .transport = walk->transport,
        .now_s = clock_wall_s(),
        .now_ms = clock_monotonic_ms(),
        .random = rng_next(&w->rng),
        .may_walk = true,
        .is_late = is_late,
        .is_late_data = w,
        .path_at = walk->path_at,
        .path_serial = walk->path_serial,
        .path_has_failed = walk->path_has_failed,
    };
    const struct store *store = publisher_enter(w->config.reader);
    engine_configure(w->config.engine, publisher_config(w->config.reader));
    answer(w, store, &query, walk);
    publisher_leave(w->config.reader);
}

/* The next of the queue, removed; NULL: the thread ends. */
static struct walk *next_walk(struct walker *w)
{
    struct walk *walk = NULL;
    (void)pthread_mutex_lock(&w->lock); /* cannot fail: a plain mutex, not held */
    while (!atomic_load_explicit(&w->is_stopping, memory_order_relaxed) && !walk) {
        walk = TAILQ_FIRST(&w->queue);
        if (walk) {
            TAILQ_REMOVE(&w->queue, walk, entry);
        } else {
            (void)pthread_cond_wait(&w->pushed, &w->lock); /* cannot fail: the lock is held */
        }
    }
    (void)pthread_mutex_unlock(&w->lock);
    return walk;
}

static void *run(void *data)
{
    struct walker *w = data;
    struct walk *walk;
    (void)pthread_setname_np(pthread_self(), "walker"); /* for top and gdb only */
    privileges_drop_thread();
    while ((walk = next_walk(w))) {
        take_walk(w, walk);
        (void)pthread_mutex_lock(&w->lock);
        TAILQ_INSERT_TAIL(&w->finished, walk, entry);
        (void)pthread_mutex_unlock(&w->lock);
        w->config.wake(w->config.data);
    }
    return NULL;
}

/* ---- Other threads ---- */

struct walker *walker_new(const struct walker_config *config)
{
    struct walker *w = xcalloc(1, sizeof(*w));
    w->config = *config;
    (void)pthread_mutex_init(&w->lock, NULL);  /* cannot fail without attributes */
    (void)pthread_cond_init(&w->pushed, NULL); /* likewise */
    TAILQ_INIT(&w->queue);
    TAILQ_INIT(&w->finished);
    rng_seed(&w->rng);
    return w;
}

int walker_start(struct walker *walker, struct err *err)
{
    int r = -pthread_create(&walker->thread, NULL, run, walker);
    if (r < 0) {
        return err_set(err, r, "start the walker: %s", err_code_text(r));
    }
    walker->is_started = true;
    return 0;
}

void walker_stop(struct walker *walker)
{
    if (walker->is_started) {
        (void)pthread_mutex_lock(&walker->lock);
        atomic_store_explicit(&walker->is_stopping, true, memory_order_relaxed);
        (void)pthread_cond_signal(&walker->pushed); /* cannot fail */
        (void)pthread_mutex_unlock(&walker->lock);
        (void)pthread_join(walker->thread, NULL); /* cannot fail for a thread of ours */
        walker->is_started = false;
    }
}

static void free_all(struct walk_list *list)
{
    while (!TAILQ_EMPTY(list)) {
        struct walk *walk = TAILQ_FIRST(list);
        TAILQ_REMOVE(list, walk, entry);
        walk_free(walk);
    }
}

void walker_free(struct walker *walker)
{
    if (walker) {
        free_all(&walker->queue);
        free_all(&walker->finished);
        (void)pthread_cond_destroy(&walker->pushed); /* nobody waits */
        (void)pthread_mutex_destroy(&walker->lock);  /* nobody holds it */
        free(walker);
    }
}

/* Behind those of its own client and those that have as many of their client's before them. */
static void enqueue(struct walk_list *queue, struct walk *walk)
{
    struct walk *after = NULL, *other;
    walk->turn = 0;
    TAILQ_FOREACH (other, queue, entry) {
        if (client_net_equal(&other->net, &walk->net)) {
            walk->turn = other->turn + 1;
        }
    }
    TAILQ_FOREACH (other, queue, entry) {
        if (other->turn > walk->turn) {
            break;
        }
        after = other;
    }
    if (after) {
        TAILQ_INSERT_AFTER(queue, after, walk, entry);
    } else {
        TAILQ_INSERT_HEAD(queue, walk, entry);
    }
}

void walker_push(struct walker *walker, struct walk *walk)
{
    walk->pushed_ms = clock_monotonic_ms();
    (void)pthread_mutex_lock(&walker->lock);
    enqueue(&walker->queue, walk);
    (void)pthread_cond_signal(&walker->pushed);
    (void)pthread_mutex_unlock(&walker->lock);
}

struct walk *walker_pop(struct walker *walker)
{
    (void)pthread_mutex_lock(&walker->lock);
    struct walk *walk = TAILQ_FIRST(&walker->finished);
    if (walk) {
        TAILQ_REMOVE(&walker->finished, walk, entry);
    }
    (void)pthread_mutex_unlock(&walker->lock);
    return walk;
}
