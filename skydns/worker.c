#include "skydns/worker.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/xalloc.h"
#include "skydns/deferred.h"
#include "skydns/engine.h"
#include "skydns/query_log.h"
#include "skydns/resolver.h"
#include "skydns/rng.h"
#include "skydns/snapshot.h"
#include "skydns/udp_server.h"

struct worker {
    struct worker_config config;
    pthread_t thread;
    struct rng rng;
    struct worker_counts batch; /* of the batch in hand */
    struct engine_deferral deferral;
    _Atomic uint64_t queries;
    _Atomic uint64_t replies;
    _Atomic uint64_t deferred;
    _Atomic uint64_t refused;
    _Atomic uint64_t unsent;
};

static void answer(struct worker *w, const struct store *store, int64_t now_s,
                   struct udp_packet *packet)
{
    const struct worker_config *config = &w->config;
    const struct engine_query query = {
        .wire = packet->query,
        .len = packet->query_len,
        .client = packet->client,
        .local = packet->local,
        .transport = ENGINE_UDP,
        .now_s = now_s,
        .random = rng_next(&w->rng),
    };
    const struct deferred_origin origin = {.udp = config->udp};
    switch (engine_answer(config->engine, store, &query, NULL, packet->reply, &packet->reply_len,
                          &w->deferral)) {
    case ENGINE_REPLY:
        w->batch.replies++;
        break;
    case ENGINE_DROP:
        packet->reply_len = 0;
        return;
    case ENGINE_DEFER:
        packet->reply_len = 0;
        if (resolver_defer(config->resolver, config->index, &query, w->deferral.kind, &origin)) {
            w->batch.deferred++;
            return;
        }
        packet->reply_len = engine_servfail(config->engine, &query, packet->reply);
        w->batch.refused++;
        break;
    }
    if (config->verbose) {
        query_log(&query, packet->reply, packet->reply_len);
    }
}

/* The only writer, so reading and writing need not be one step. */
static void add(_Atomic uint64_t *counter, uint64_t n)
{
    uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, now + n, memory_order_relaxed);
}

static void count_batch(struct worker *w)
{
    add(&w->queries, w->batch.queries);
    add(&w->replies, w->batch.replies);
    add(&w->deferred, w->batch.deferred);
    add(&w->refused, w->batch.refused);
    add(&w->unsent, w->batch.unsent);
    w->batch = (struct worker_counts){0};
}

static void *run(void *data)
{
    struct worker *w = data;
    struct udp_packet *packets;
    size_t count;
    while ((count = udp_server_receive(w->config.udp, &packets))) {
        int64_t now_s = clock_wall_s();
        const struct store *store = snapshot_enter(w->config.reader);
        for (size_t i = 0; i < count; i++) {
            answer(w, store, now_s, &packets[i]);
        }
        snapshot_leave(w->config.reader);
        w->batch.queries = count;
        w->batch.unsent = udp_server_send(w->config.udp);
        count_batch(w);
    }
    return NULL;
}

int worker_start(const struct worker_config *config, struct worker **ret_worker, struct err *err)
{
    char name[16]; /* the kernel's limit */
    struct worker *w = xcalloc(1, sizeof(*w));
    w->config = *config;
    rng_seed(&w->rng);
    int r = -pthread_create(&w->thread, NULL, run, w);
    if (r < 0) {
        free(w);
        return err_set(err, r, "start worker %u: %s", config->index, err_code_text(r));
    }
    (void)snprintf(name, sizeof(name), "worker-%u", config->index); /* two digits at most */
    (void)pthread_setname_np(w->thread, name);                      /* for top and gdb only */
    *ret_worker = w;
    return 0;
}

void worker_join(struct worker *worker)
{
    (void)pthread_join(worker->thread, NULL); /* cannot fail for a thread of ours */
}

void worker_free(struct worker *worker)
{
    free(worker);
}

void worker_counts_add(const struct worker *worker, struct worker_counts *sum)
{
    sum->queries += atomic_load_explicit(&worker->queries, memory_order_relaxed);
    sum->replies += atomic_load_explicit(&worker->replies, memory_order_relaxed);
    sum->deferred += atomic_load_explicit(&worker->deferred, memory_order_relaxed);
    sum->refused += atomic_load_explicit(&worker->refused, memory_order_relaxed);
    sum->unsent += atomic_load_explicit(&worker->unsent, memory_order_relaxed);
}
