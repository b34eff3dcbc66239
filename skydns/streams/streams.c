#include "skydns/streams/streams.h"

#include <ev.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/privileges.h"
#include "common/base/xalloc.h"
#include "common/tls/tls_handshakes.h"
#include "skydns/resolver/resolver.h"
#include "skydns/streams/tcp_answers_internal.h"
#include "skydns/streams/tcp_server.h"

/* Limits late answers sent in one turn of the loop, so that sockets and timers get theirs. */
enum { LATE_A_TURN = 64 };

/* Late answer on its way from the resolver. */
struct late {
    TAILQ_ENTRY(late) entry;
    struct deferred_origin origin;
    enum engine_transport transport;
    int64_t begun_us;
    bool is_from_forward;
    struct response response; /* of these bytes */
    uint8_t bytes[];
};

TAILQ_HEAD(late_list, late);

struct streams {
    struct streams_counts counts;
    struct streams_config config;
    struct ev_loop *loop;
    pthread_t thread;
    bool started;
    bool draining;
    ev_async filled; /* there is something in the inbox */
    ev_async stop;
    ev_async leave;
    _Atomic uint32_t leaving_idle_ms;
    ev_timer drain_timer;
    ev_check check;
    ev_prepare prepare;
    struct tcp_server *tcp;
    struct tls_handshakes *handshakes; /* NULL: no TLS */
    ev_async handshaken;               /* it has finished jobs */
    struct turn turn;
    struct tcp_answers answers;
    struct transfer_inbox parts; /* of zone transfers, over TLS */
    struct late_list late;       /* taken from the inbox, not sent yet */

    /* Fields that the resolver's thread shares. */
    pthread_mutex_t lock;
    struct late_list inbox;
};

/* ---- Late answers ---- */

/* Puts a late answer into the inbox, on the resolver's thread. The inbox is bounded by what this
 * thread has deferred. */
static bool pass_late(void *data, const struct deferred *deferred, const struct response *response)
{
    struct streams *streams = data;
    struct late *late = xmalloc(sizeof(*late) + response->len);
    *late = (struct late){.origin = deferred->origin,
                          .transport = deferred->query.transport,
                          .begun_us = deferred->begun_us,
                          .is_from_forward = deferred->kind == ENGINE_DEFER_FORWARD,
                          .response = *response};
    late->response.bytes = late->bytes;
    memcpy(late->bytes, response->bytes, response->len);
    (void)pthread_mutex_lock(&streams->lock); /* cannot fail: a plain mutex, not held */
    TAILQ_INSERT_TAIL(&streams->inbox, late, entry);
    (void)pthread_mutex_unlock(&streams->lock); /* the same */
    ev_async_send(streams->loop, &streams->filled);
    return true;
}

/* Returns whether the client is still connected, on the resolver's thread. */
static bool has_stream_client(void *data, const struct deferred *deferred)
{
    const struct streams *streams = data;
    return tcp_server_has(streams->tcp, deferred->origin.tcp);
}

void streams_send_part(struct streams *streams, struct transfer_part *part)
{
    transfer_inbox_put(&streams->parts, part);
}

static void streams_send_late(struct streams *s, const struct late *late)
{
    struct query_counts *counts = &s->counts.queries[late->transport];
    if (counts->skydns) {
        skydns_counts_begin(counts->skydns, late->begun_us, late->is_from_forward);
    }
    query_counts_response(counts, &late->response);
    query_counts_took(counts, clock_monotonic_us() - late->begun_us);
    (void)tcp_answers_late(&s->answers, &late->origin, &late->response); /* false: it is gone */
}

static void streams_on_filled(struct ev_loop *loop, ev_async *filled, int revents UNUSED)
{
    struct streams *s = filled->data;
    struct late *late;
    (void)pthread_mutex_lock(&s->lock); /* cannot fail: a plain mutex, not held */
    TAILQ_CONCAT(&s->late, &s->inbox, entry);
    (void)pthread_mutex_unlock(&s->lock); /* the same */
    for (unsigned i = 0; i < LATE_A_TURN && (late = TAILQ_FIRST(&s->late)); i++) {
        TAILQ_REMOVE(&s->late, late, entry);
        streams_send_late(s, late);
        free(late);
    }
    if (!TAILQ_EMPTY(&s->late)) {
        ev_async_send(loop, filled);
    }
}

static void free_late(struct late_list *list)
{
    struct late *late;
    while ((late = TAILQ_FIRST(list))) {
        TAILQ_REMOVE(list, late, entry);
        free(late);
    }
}

/* Defers a refresh while the response is on its way. If the ring is full, the cache entry just
 * expires. */
static void streams_on_refresh(void *data, const struct engine_query *query,
                               const struct question *question)
{
    struct streams *s = data;
    (void)!resolver_defer_refresh(s->config.resolver, s->answers.producer, query, question);
}

/* ---- Handshakes ---- */

/* Wakes the loop from a thread of the pool. */
static void wake_for_handshakes(void *data)
{
    struct streams *s = data;
    ev_async_send(s->loop, &s->handshaken);
}

static void on_handshaken(struct ev_loop *loop UNUSED, ev_async *handshaken, int revents UNUSED)
{
    struct streams *s = handshaken->data;
    tcp_server_take_handshakes(s->tcp);
}

static void open_handshakes(struct streams *s)
{
    const struct tls_handshakes_config config = {
        .threads = s->config.handshake_threads, .wake = wake_for_handshakes, .data = s};
    for (unsigned i = 0; i < ENGINE_TRANSPORTS && !s->handshakes; i++) {
        s->handshakes = s->config.kinds[i].tls ? tls_handshakes_new(&config) : NULL;
    }
}

/* ---- The loop ---- */

/* Runs first after the sleep, before any other callback. */
static void streams_on_check(struct ev_loop *loop UNUSED, ev_check *check, int revents UNUSED)
{
    struct streams *s = check->data;
    (void)turn_begin(&s->turn); /* the turn itself looks at the configuration */
}

static void count_connections(struct streams *s)
{
    struct streams_counts *counts = &s->counts;
    for (unsigned i = ENGINE_TLS; i < ENGINE_TRANSPORTS; i++) {
        counter_set(&counts->connections[i], tcp_server_connections_of(s->tcp, i));
    }
    const struct tcp_handshake_counts *handshakes = tcp_server_handshakes(s->tcp);
    counter_set(&counts->evictions, tcp_server_evictions(s->tcp));
    counter_set(&counts->handshakes_full, handshakes->full);
    counter_set(&counts->handshakes_resumed, handshakes->resumed);
    counter_set(&counts->handshakes_failed, handshakes->failed);
}

/* Runs last before the sleep. */
static void streams_on_prepare(struct ev_loop *loop, ev_prepare *prepare, int revents UNUSED)
{
    struct streams *s = prepare->data;
    tcp_answers_end_turn(&s->answers);
    turn_end(&s->turn);
    count_connections(s);
    if (s->draining && tcp_server_connections(s->tcp) == 0) {
        ev_break(loop, EVBREAK_ALL);
    }
}

static void streams_on_drain_end(struct ev_loop *loop, ev_timer *timer UNUSED, int revents UNUSED)
{
    ev_break(loop, EVBREAK_ALL);
}

static void streams_on_stop(struct ev_loop *loop, ev_async *stop, int revents UNUSED)
{
    struct streams *s = stop->data;
    s->draining = true;
    ev_timer_set(&s->drain_timer, RESOLVER_DRAIN_MS / 1000.0, 0.);
    ev_timer_start(loop, &s->drain_timer);
    tcp_server_drain(s->tcp);
}

static void streams_on_leave(struct ev_loop *loop UNUSED, ev_async *leave, int revents UNUSED)
{
    struct streams *s = leave->data;
    s->answers.idle_ms = 0;
    tcp_server_leave(s->tcp, atomic_load(&s->leaving_idle_ms));
}

static void streams_start_watchers(struct streams *s)
{
    ev_async_init(&s->filled, streams_on_filled);
    s->filled.data = s;
    ev_async_start(s->loop, &s->filled);
    ev_async_init(&s->handshaken, on_handshaken);
    s->handshaken.data = s;
    ev_async_start(s->loop, &s->handshaken);
    ev_async_init(&s->stop, streams_on_stop);
    s->stop.data = s;
    ev_async_start(s->loop, &s->stop);
    ev_async_init(&s->leave, streams_on_leave);
    s->leave.data = s;
    ev_async_start(s->loop, &s->leave);
    ev_init(&s->drain_timer, streams_on_drain_end);
    ev_check_init(&s->check, streams_on_check);
    ev_set_priority(&s->check, EV_MAXPRI);
    s->check.data = s;
    ev_check_start(s->loop, &s->check);
    ev_prepare_init(&s->prepare, streams_on_prepare);
    s->prepare.data = s;
    ev_prepare_start(s->loop, &s->prepare);
}

/* ---- Life ---- */

static int open_tcp(struct streams *s, struct err *err)
{
    struct tcp_server_config tcp = {
        .loop = s->loop,
        .sockets = s->config.sockets,
        .socket_count = s->config.socket_count,
        .connections_max = s->config.connections_max,
        .buffers_max = TCP_BUFFERS_MAX,
        .idle_ms = STREAMS_IDLE_MS,
        .handshakes = s->handshakes,
        .handshake_ms = STREAMS_HANDSHAKE_MS,
        .answer = tcp_answers_query,
        .is_limited = &s->turn.has_namespace_rate,
        .admit = tcp_answers_admit,
        .look_ahead = tcp_answers_look_ahead,
        .part_left = tcp_answers_part_left,
        .data = &s->answers,
    };
    memcpy(tcp.kinds, s->config.kinds, sizeof(tcp.kinds));
    return tcp_server_new(&tcp, &s->tcp, err);
}

static void init_turn(struct streams *s)
{
    const struct streams_config *config = &s->config;
    s->turn = (struct turn){
        .engine = config->engine,
        .reader = config->reader,
        .tap = config->tap,
        .clients = config->clients,
        .refresh = streams_on_refresh,
        .data = s,
    };
    for (unsigned i = ENGINE_TLS; i < ENGINE_TRANSPORTS; i++) {
        query_counts_init(&s->counts.queries[i], config->want_skydns_metrics);
        s->turn.counts[i] = &s->counts.queries[i];
    }
    rng_seed(&s->turn.rng);
}

static void free_counts(struct streams *s)
{
    for (unsigned i = ENGINE_TLS; i < ENGINE_TRANSPORTS; i++) {
        query_counts_fini(&s->counts.queries[i]);
    }
}

int streams_new(const struct streams_config *config, struct streams **ret_streams, struct err *err)
{
    struct streams *s = xcalloc_aligned(alignof(struct streams), sizeof(*s));
    s->config = *config;
    s->counts.engine = engine_counts(config->engine);
    s->loop = ev_loop_new(EVFLAG_AUTO);
    if (!s->loop) {
        free(s);
        return err_set(err, ERR_UNAVAILABLE, "no event loop: too few descriptors?");
    }
    init_turn(s);
    open_handshakes(s);
    int r = open_tcp(s, err);
    if (r < 0) {
        tls_handshakes_free(s->handshakes);
        free_counts(s);
        ev_loop_destroy(s->loop);
        free(s);
        return r;
    }
    transfer_inbox_init(&s->parts, s->loop, s->tcp, config->transfers);
    s->answers = (struct tcp_answers){
        .turn = &s->turn,
        .tcp = s->tcp,
        .transfers = &s->parts,
        .resolver = config->resolver,
        .producer = resolver_add_producer(config->resolver),
        .reply_to = {pass_late, s, has_stream_client},
        .namespace_rate = config->namespace_rate,
        .late_max = DEFERRED_RING_SIZE, /* of the inbox, too */
        .idle_ms = STREAMS_IDLE_MS,
    };
    TAILQ_INIT(&s->late);
    TAILQ_INIT(&s->inbox);
    (void)pthread_mutex_init(&s->lock, NULL); /* cannot fail without attributes */
    streams_start_watchers(s);
    *ret_streams = s;
    return 0;
}

static void *streams_run(void *data)
{
    struct streams *s = data;
    privileges_drop_thread();
    (void)pthread_setname_np(pthread_self(), "streams"); /* for top and gdb only */
    ev_run(s->loop, 0);
    tcp_answers_end_turn(&s->answers);
    turn_end(&s->turn); /* the drain may have timed out in the middle of one */
    return NULL;
}

static void stop_handshakes(struct streams *s)
{
    if (s->handshakes) {
        tls_handshakes_stop(s->handshakes);
    }
}

int streams_start(struct streams *streams, struct err *err)
{
    int r = streams->handshakes ? tls_handshakes_start(streams->handshakes, err) : 0;
    if (r < 0) {
        return r;
    }
    r = -pthread_create(&streams->thread, NULL, streams_run, streams);
    if (r < 0) {
        stop_handshakes(streams);
        return err_set(err, r, "start the streams: %s", err_code_text(r));
    }
    streams->started = true;
    return 0;
}

void streams_leave(struct streams *streams, uint32_t idle_ms)
{
    atomic_store(&streams->leaving_idle_ms, idle_ms);
    ev_async_send(streams->loop, &streams->leave);
}

void streams_stop(struct streams *streams)
{
    if (streams->started) {
        ev_async_send(streams->loop, &streams->stop);
        (void)pthread_join(streams->thread, NULL); /* cannot fail for a thread of ours */
        streams->started = false;
    }
    stop_handshakes(streams);
}

void streams_free(struct streams *streams)
{
    if (!streams) {
        return;
    }
    tcp_server_free(streams->tcp);
    transfer_inbox_fini(&streams->parts);
    tls_handshakes_free(streams->handshakes);
    free_late(&streams->late);
    free_late(&streams->inbox);
    (void)pthread_mutex_destroy(&streams->lock); /* nobody holds it */
    ev_loop_destroy(streams->loop);
    free_counts(streams);
    free(streams);
}

const struct streams_counts *streams_counts(const struct streams *streams)
{
    return &streams->counts;
}
