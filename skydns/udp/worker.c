#include "skydns/udp/worker.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/privileges.h"
#include "common/base/xalloc.h"
#include "skydns/clients/client_index.h"
#include "skydns/engine/engine.h"
#include "skydns/engine/namespace_rate.h"
#include "skydns/engine/rate_limit.h"
#include "skydns/publish/publisher.h"
#include "skydns/records/rng.h"
#include "skydns/resolver/deferred.h"
#include "skydns/resolver/resolver.h"
#include "skydns/tap/client_counts.h"
#include "skydns/tap/query_counts.h"
#include "skydns/tap/query_log.h"
#include "skydns/tap/query_tap.h"
#include "skydns/transfer/transfers.h"
#include "skydns/udp/udp_server.h"

/* Limits the time of one batch's expensive answers, but for the first; the rest goes to the
 * resolver. The next batch may have to wait so long. */
enum { EXPENSIVE_US = 500 };

/* Limits REFUSED for clients that may not query, of each worker: two hundredths of its time. Beyond
 * that, their queries are dropped unread. */
enum { REFUSALS_A_SECOND = 10000 };

struct worker {
    struct query_counts counts;
    struct worker_config config;
    pthread_t thread;
    struct rng rng;
    struct engine_deferral deferral;

    struct client_counts *clients; /* of the batch; NULL: they are not counted */

    int64_t batch_us; /* when the batch came; monotonic */
    bool is_timed;    /* its packets have the kernel's times */

    int64_t refusal_s;       /* the monotonic second to which the next belongs */
    unsigned refusals_given; /* in it */

    /* Packets of the batch to be answered. */
    size_t due_count;
    struct udp_packet *due[UDP_BATCH];

    /* Packets of the batch whose answers are expensive. */
    size_t expensive_count;
    struct udp_packet *expensive[UDP_BATCH];
};

/* Times of a batch. */
struct worker_time {
    int64_t wall_s;
    int64_t monotonic_us;
};

/* Makes a query with what all queries of a batch have in common. */
static struct engine_query query_at(struct worker_time now)
{
    return (struct engine_query){
        .transport = ENGINE_UDP,
        .now_s = now.wall_s,
        .now_ms = now.monotonic_us / 1000,
    };
}

/* Makes the query this packet's: cheaper than another query. */
static void set_packet(struct worker *w, struct engine_query *query,
                       const struct udp_packet *packet)
{
    query->wire = packet->query;
    query->len = packet->query_len;
    query->client = packet->client;
    query->local = packet->local;
    query->received_ns = packet->received_ns;
    query->random = rng_next(&w->rng);
}

static struct engine_query worker_query_of(struct worker *w, const struct udp_packet *packet,
                                           struct worker_time now)
{
    struct engine_query query = query_at(now);
    set_packet(w, &query, packet);
    return query;
}

static NOINLINE void worker_log(struct worker *w, const struct engine_query *query,
                                const struct udp_packet *packet)
{
    const struct query_seen seen = {
        .query = query,
        .response = &packet->response,
        .clients = publisher_config(w->config.reader)->clients,
        .took_us = clock_monotonic_us() - w->batch_us,
    };
    query_tap_show(w->config.tap, &w->counts, &seen);
}

static NOINLINE void count_reply_for_skydns(struct worker *w, const struct engine_query *query,
                                            const struct udp_packet *packet)
{
    if (packet->response.len > 0) {
        skydns_counts_response(w->counts.skydns, &packet->response);
    }
    if (query_tap_wants(w->config.tap, &w->counts, &packet->response)) {
        worker_log(w, query, packet);
    }
}

/* Counts a response. Its calls come last, so that it saves no registers for them. */
static void count_reply(struct worker *w, const struct engine_query *query,
                        const struct udp_packet *packet)
{
    query_counts_plain(&w->counts, &packet->response);
    if (w->counts.skydns) {
        count_reply_for_skydns(w, query, packet);
    } else if (query_tap_wants(w->config.tap, &w->counts, &packet->response)) {
        worker_log(w, query, packet);
    }
}

/* Counts the response, which there is, for its client. */
static inline void count_client(struct worker *w, const struct engine_query *query,
                                const struct udp_packet *packet)
{
    if (w->clients) {
        client_counts_note(w->clients, query->client, &packet->response);
    }
}

static bool ask_transfer(const struct worker *w, const struct engine_query *query)
{
    const struct worker_config *config = &w->config;
    const struct transfer_origin origin = {.transport = ENGINE_UDP, .udp = config->udp};
    return config->transfers &&
           transfers_ask(config->transfers, &origin, query, publisher_config(config->reader)->tsig);
}

static void worker_defer(struct worker *w, const struct engine_query *query,
                         enum engine_deferral_kind kind, struct udp_packet *packet)
{
    const struct worker_config *config = &w->config;
    const struct deferred_origin origin = {.to = udp_server_reply_to(config->udp)};
    packet->response.len = 0;
    if (kind == ENGINE_DEFER_TRANSFER
            ? ask_transfer(w, query)
            : resolver_defer(config->resolver, config->index, query, kind, &origin)) {
        counter_add(&w->counts.deferred, 1);
        query_tap_show_query(config->tap, query, publisher_config(config->reader)->clients);
        return;
    }
    counter_add(&w->counts.refused, 1);
    if (kind != ENGINE_DEFER_SIGN) { /* as good as lost: resolver.h */
        (void)!engine_servfail(config->engine, query, EDNS_ERROR_OTHER, &packet->response);
        count_reply(w, query, packet);
        if (packet->response.len > 0) {
            count_client(w, query, packet);
        }
    }
}

static NOINLINE void note_barred(struct worker *w, const struct engine_query *query)
{
    counter_add(&w->counts.not_allowed, 1);
    query_log_not_allowed(query->client);
}

static void worker_answer(struct worker *w, const struct store *store, struct engine_query *query,
                          struct udp_packet *packet)
{
    enum engine_verdict verdict =
        engine_answer(w->config.engine, store, query, NULL, &packet->response, &w->deferral);
    if (verdict != ENGINE_DEFER && w->deferral.is_barred) {
        note_barred(w, query);
    }
    switch (verdict) {
    case ENGINE_REPLY:
        counter_add(&w->counts.answered, 1);
        count_reply(w, query, packet);
        if (w->deferral.wants_refresh) {
            (void)!resolver_defer_refresh(w->config.resolver, w->config.index, query,
                                          &w->deferral.refresh);
        }
        count_client(w, query, packet);
        break;
    case ENGINE_DROP:
        counter_add(&w->counts.dropped, 1);
        packet->response.len = 0;
        break;
    case ENGINE_DEFER:
        if (query->is_brief && w->deferral.kind == ENGINE_DEFER_SCAN) {
            packet->response.len = 0;
            w->expensive[w->expensive_count++] = packet;
        } else {
            worker_defer(w, query, w->deferral.kind, packet);
        }
        break;
    }
}

/* ---- Who may ask ---- */

static bool take_refusal(struct worker *w, struct worker_time now)
{
    const int64_t second = now.monotonic_us / 1000000;
    if (second != w->refusal_s) {
        w->refusal_s = second;
        w->refusals_given = 0;
    }
    return w->refusals_given++ < REFUSALS_A_SECOND;
}

static void drop_barred(struct worker *w, struct udp_packet *packet)
{
    const struct engine_query query = {.client = packet->client};
    query_counts_begin(&w->counts);
    counter_add(&w->counts.dropped, 1);
    note_barred(w, &query);
    packet->response.len = 0;
}

/* Fills in the packets whose clients may query, and returns how many they are. Some of the others
 * are due, for REFUSED. No byte of any is read. */
static size_t pick_admitted(struct worker *w, struct worker_time now, struct udp_packet *packets,
                            size_t count, struct udp_packet **ret_admitted)
{
    size_t admitted = 0;
    for (size_t i = 0; i < count; i++) {
        if (engine_admits(w->config.engine, packets[i].client)) {
            ret_admitted[admitted++] = &packets[i];
        } else if (take_refusal(w, now)) {
            w->due[w->due_count++] = &packets[i];
        } else {
            drop_barred(w, &packets[i]);
        }
    }
    return admitted;
}

/* ---- Rates ---- */

/* Begins to count a query beyond a rate, without a response yet. */
static void begin_limited(struct worker *w, struct udp_packet *packet)
{
    packet->response.len = 0;
    query_counts_begin(&w->counts);
    if (w->clients) {
        client_counts_note_limited(w->clients, packet->client);
    }
}

/* Gives every second one an empty response, which a client in need follows to TCP. */
static void worker_limit(struct worker *w, const struct engine_query *query,
                         enum cookie_verdict cookie, struct udp_packet *packet, bool wants_reply)
{
    begin_limited(w, packet);
    if (wants_reply && engine_limited(w->config.engine, query, cookie, &packet->response)) {
        counter_add(&w->counts.limited, 1);
        count_reply(w, query, packet);
    } else {
        counter_add(&w->counts.limit_drops, 1);
    }
}

/* Returns true if it is within its client's rate, or not subject to one. */
static bool pass_rate(struct worker *w, const struct rate *rate, struct worker_time now,
                      uint64_t client, struct udp_packet *packet)
{
    struct engine_query query = worker_query_of(w, packet, now);
    enum cookie_verdict cookie = engine_check_cookie(w->config.engine, &query);
    if (cookie == COOKIE_VALID) {
        counter_add(&w->counts.limit_exempt, 1);
        return true;
    }
    enum rate_verdict verdict =
        rate_limit_take(w->config.rate_limit, client, rate, now.monotonic_us);
    if (verdict != RATE_PASS) {
        worker_limit(w, &query, cookie, packet, verdict == RATE_TRUNCATE);
    }
    return verdict == RATE_PASS;
}

/* Keeps the packets within their clients' rates, and returns how many they are. Works in two
 * passes: the entries are loaded together. */
static size_t keep_within_rate(struct worker *w, const struct rate *rate, struct worker_time now,
                               struct udp_packet **packets, size_t count)
{
    uint64_t clients[UDP_BATCH];
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        clients[i] = rate_limit_client(packets[i]->client);
        rate_limit_prepare(w->config.rate_limit, clients[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (pass_rate(w, rate, now, clients[i], packets[i])) {
            packets[kept++] = packets[i];
        }
    }
    return kept;
}

static bool pass_namespace_rate(struct namespace_charges *charges,
                                const struct client_index *clients, const struct udp_packet *packet)
{
    const struct ip ip = addr_ip(packet->client);
    const struct client_space *space = client_index_find(clients, &ip);
    return !space || namespace_charges_take(charges, space, &ip) == 0;
}

/* Keeps the packets within their namespaces' rates, likewise; the others get no response. */
static size_t keep_within_namespace_rate(struct worker *w, const struct engine_config *config,
                                         struct worker_time now, struct udp_packet **packets,
                                         size_t count)
{
    const struct rate rate = {config->settings.rate_namespace,
                              config->settings.rate_namespace_burst};
    struct namespace_charges charges;
    size_t kept = 0;
    namespace_charges_begin(&charges, w->config.namespace_rate, &rate, now.monotonic_us);
    for (size_t i = 0; i < count; i++) {
        if (pass_namespace_rate(&charges, config->clients, packets[i])) {
            packets[kept++] = packets[i];
            continue;
        }
        begin_limited(w, packets[i]);
        counter_add(&w->counts.namespace_drops, 1);
    }
    return kept;
}

/* Applies -allow, then -rate and -rate-namespace: before anything reads the queries, but for a
 * cookie that exempts one from -rate. */
static NOINLINE void pick_through_gate(struct worker *w, const struct engine_config *config,
                                       struct worker_time now, struct udp_packet *packets,
                                       size_t count)
{
    const struct rate rate = {config->settings.rate, config->settings.rate_burst};
    struct udp_packet *admitted[UDP_BATCH];
    count = pick_admitted(w, now, packets, count, admitted);
    if (rate.per_s > 0) {
        count = keep_within_rate(w, &rate, now, admitted, count);
    }
    if (config->settings.rate_namespace > 0 && config->clients) {
        count = keep_within_namespace_rate(w, config, now, admitted, count);
    }
    for (size_t i = 0; i < count; i++) {
        w->due[w->due_count++] = admitted[i];
    }
}

static void pick_due(struct worker *w, struct worker_time now, struct udp_packet *packets,
                     size_t count)
{
    const struct engine_config *config = publisher_config(w->config.reader);
    w->due_count = 0;
    if (config->settings.is_restricted || config->settings.rate > 0 ||
        config->settings.rate_namespace > 0) {
        pick_through_gate(w, config, now, packets, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        w->due[w->due_count++] = &packets[i];
    }
}

/* ---- Batches ---- */

/* Announces the next packets to the engine. */
static void worker_look_ahead(struct worker *w, const struct store *store,
                              struct udp_packet *const *packets, size_t left)
{
    struct slice queries[ENGINE_AHEAD_MAX];
    size_t count = left < ENGINE_AHEAD_MAX ? left : ENGINE_AHEAD_MAX;
    for (size_t i = 0; i < count; i++) {
        queries[i] = slice_of(packets[i]->query, packets[i]->query_len);
    }
    engine_look_ahead(w->config.engine, store, queries, count);
}

/* Counts how long the batch's timed queries took: now that their responses have left. */
static NOINLINE void worker_observe(struct worker *w, const int64_t *received_ns, size_t count)
{
    int64_t now_ns = clock_wall_ns();
    for (size_t i = 0; i < count; i++) {
        query_counts_took(&w->counts, (now_ns - received_ns[i]) / 1000);
    }
}

static void send_replies(struct worker *w)
{
    int64_t received_ns[UDP_BATCH];
    size_t timed = 0;
    for (size_t i = 0; w->is_timed && i < w->due_count; i++) {
        if (w->due[i]->response.len > 0 && w->due[i]->received_ns > 0) {
            received_ns[timed++] = w->due[i]->received_ns;
        }
    }
    size_t unsent = udp_server_send(w->config.udp);
    if (unsent) {
        counter_add(&w->counts.unsent, unsent);
    }
    if (timed > 0) {
        worker_observe(w, received_ns, timed);
    }
}

/* Answers each packet that costs little; puts the others aside. */
static void answer_cheap(struct worker *w, const struct store *store, struct worker_time now)
{
    struct engine_query query = query_at(now);
    query.is_brief = true;
    w->expensive_count = 0;
    for (size_t i = 0; i < w->due_count; i++) {
        unsigned ahead = i % ENGINE_AHEAD_MAX;
        if (ahead == 0) {
            worker_look_ahead(w, store, w->due + i, w->due_count - i);
        }
        set_packet(w, &query, w->due[i]);
        query.ahead = ahead + 1;
        query_counts_begin(&w->counts);
        worker_answer(w, store, &query, w->due[i]);
    }
}

/* Answers the others, one by one; their responses wait for nothing else. */
static void answer_expensive(struct worker *w, const struct store *store, struct worker_time now)
{
    int64_t begun_us = clock_monotonic_us();
    for (size_t i = 0; i < w->expensive_count; i++) {
        struct engine_query query = worker_query_of(w, w->expensive[i], now);
        query_counts_begin(&w->counts);
        if (i > 0 && clock_monotonic_us() - begun_us >= EXPENSIVE_US) {
            engine_read(w->config.engine, &query);
            worker_defer(w, &query, ENGINE_DEFER_SCAN, w->expensive[i]);
        } else {
            worker_answer(w, store, &query, w->expensive[i]);
        }
    }
}

static void *worker_run(void *data)
{
    struct worker *w = data;
    struct udp_packet *packets;
    size_t count;
    char name[16];                                                    /* the kernel's limit */
    (void)snprintf(name, sizeof(name), "worker-%u", w->config.index); /* two digits at most */
    privileges_drop_thread();
    (void)pthread_setname_np(pthread_self(), name); /* for top and gdb only */
    while ((count = udp_server_receive(w->config.udp, &packets))) {
        struct worker_time now = {clock_wall_s(), clock_monotonic_us()};
        w->batch_us = now.monotonic_us;
        w->clients = query_tap_wants_clients(w->config.tap) ? w->config.clients : NULL;
        w->is_timed = packets[0].received_ns > 0;
        const struct store *store = publisher_enter(w->config.reader);
        engine_configure(w->config.engine, publisher_config(w->config.reader));
        pick_due(w, now, packets, count);
        answer_cheap(w, store, now);
        if (w->expensive_count > 0) {
            send_replies(w);
            answer_expensive(w, store, now);
        }
        publisher_leave(w->config.reader);
        send_replies(w);
    }
    return NULL;
}

int worker_start(const struct worker_config *config, struct worker **ret_worker, struct err *err)
{
    struct worker *w = xcalloc_aligned(alignof(struct worker), sizeof(*w));
    w->config = *config;
    query_counts_init(&w->counts, config->want_skydns_metrics);
    rng_seed(&w->rng);
    int r = -pthread_create(&w->thread, NULL, worker_run, w);
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

int64_t worker_cpu_ns(const struct worker *worker)
{
    clockid_t clock;
    struct timespec used = {0};
    if (pthread_getcpuclockid(worker->thread, &clock) == 0) {
        (void)clock_gettime(clock, &used); /* fails only when the thread is gone: 0 */
    }
    return used.tv_sec * INT64_C(1000000000) + used.tv_nsec;
}

const struct engine_counts *worker_engine_counts(const struct worker *worker)
{
    return engine_counts(worker->config.engine);
}
