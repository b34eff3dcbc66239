#include "skydns/serve/worker.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/privileges.h"
#include "common/base/xalloc.h"
#include "skydns/answer/engine.h"
#include "skydns/serve/deferred.h"
#include "skydns/serve/query_counts.h"
#include "skydns/serve/query_log_internal.h"
#include "skydns/serve/resolver.h"
#include "skydns/serve/udp_server.h"
#include "skydns/store/rng.h"
#include "skydns/store/snapshot.h"

struct worker {
    struct query_counts counts;
    struct worker_config config;
    pthread_t thread;
    struct rng rng;
    struct engine_deferral deferral;
};

static void answer(struct worker *w, const struct store *store, int64_t now_s,
                   struct udp_packet *packet, unsigned ahead)
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
        .ahead = ahead,
    };
    const struct deferred_origin origin = {.udp = config->udp};
    query_counts_begin(&w->counts);
    switch (engine_answer(config->engine, store, &query, NULL, packet->reply, &packet->reply_len,
                          &w->deferral)) {
    case ENGINE_REPLY:
        counter_add(&w->counts.answered, 1);
        break;
    case ENGINE_DROP:
        counter_add(&w->counts.dropped, 1);
        packet->reply_len = 0;
        return;
    case ENGINE_DEFER:
        packet->reply_len = 0;
        if (resolver_defer(config->resolver, config->index, &query, w->deferral.kind, &origin)) {
            counter_add(&w->counts.deferred, 1);
            return;
        }
        packet->reply_len = engine_servfail(config->engine, &query, packet->reply);
        counter_add(&w->counts.refused, 1);
        break;
    }
    query_counts_reply(&w->counts, packet->reply, packet->reply_len);
    if (config->verbose) {
        query_log(&query, packet->reply, packet->reply_len);
    }
}

/* Announces the next packets to the engine. */
static void look_ahead(struct worker *w, const struct store *store,
                       const struct udp_packet *packets, size_t left)
{
    struct slice queries[ENGINE_AHEAD_MAX];
    size_t count = left < ENGINE_AHEAD_MAX ? left : ENGINE_AHEAD_MAX;
    for (size_t i = 0; i < count; i++) {
        queries[i] = slice_of(packets[i].query, packets[i].query_len);
    }
    engine_look_ahead(w->config.engine, store, queries, count);
}

static void *run(void *data)
{
    struct worker *w = data;
    struct udp_packet *packets;
    size_t count;
    char name[16];                                                    /* the kernel's limit */
    (void)snprintf(name, sizeof(name), "worker-%u", w->config.index); /* two digits at most */
    (void)pthread_setname_np(pthread_self(), name);                   /* for top and gdb only */
    privileges_drop_thread();
    while ((count = udp_server_receive(w->config.udp, &packets))) {
        int64_t now_s = clock_wall_s();
        const struct store *store = snapshot_enter(w->config.reader);
        engine_configure(w->config.engine, snapshot_config(w->config.reader));
        for (size_t i = 0; i < count; i++) {
            unsigned ahead = i % ENGINE_AHEAD_MAX;
            if (ahead == 0) {
                look_ahead(w, store, packets + i, count - i);
            }
            answer(w, store, now_s, &packets[i], ahead + 1);
        }
        snapshot_leave(w->config.reader);
        size_t unsent = udp_server_send(w->config.udp);
        if (unsent) {
            counter_add(&w->counts.unsent, unsent);
        }
    }
    return NULL;
}

int worker_start(const struct worker_config *config, struct worker **ret_worker, struct err *err)
{
    struct worker *w = xcalloc_aligned(alignof(struct worker), sizeof(*w));
    w->config = *config;
    query_counts_init(&w->counts, config->want_skydns_metrics);
    rng_seed(&w->rng);
    int r = -pthread_create(&w->thread, NULL, run, w);
    if (r < 0) {
        worker_free(w);
        return err_set(err, r, "start worker %u: %s", config->index, err_code_text(r));
    }
    *ret_worker = w;
    return 0;
}

void worker_join(struct worker *worker)
{
    (void)pthread_join(worker->thread, NULL); /* cannot fail for a thread of ours */
}

void worker_free(struct worker *worker)
{
    if (worker) {
        query_counts_fini(&worker->counts);
    }
    free(worker);
}

void worker_sums_add(const struct worker *worker, struct query_sums *sums)
{
    query_sums_add(sums, &worker->counts);
}
