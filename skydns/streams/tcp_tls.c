/* TLS on the TCP server's connections: handshakes, whose steps are jobs for other threads
 * (tls_handshakes.h), and then reading and writing.
 *
 *     accepted -> silent -> (held) -> job out -> slow -> job out -> ... -> done
 *        |                              `  closed meanwhile: the job keeps descriptor and session
 *        |                                 until it comes back
 *        `  handshake_ms later:       `  handshake_ms later: closed
 *           closed
 *
 * A silent client costs no session. One that has said something is held while TCP_HANDSHAKES_MAX
 * others have begun; its socket is not read, and the wait is not counted as its own slowness. */
#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/tls/tls_handshakes.h"
#include "common/tls/tls_server.h"
#include "common/tls/tls_session.h"
#include "skydns/streams/tcp_connection_internal.h"

enum stage {
    SILENT, /* the socket is watched; the client has sent nothing */
    HELD,   /* it has, and waits for its turn to begin: among its client's held */
    OUT,    /* begun; the pool has the job */
    BACK,   /* begun; a step is made */
    SLOW,   /* begun; the socket is watched: among its client's slow */
};

struct tcp_handshake {
    struct tls_handshake_job job;     /* first: what the pool returns */
    struct tcp_connection *c;         /* NULL: closed */
    TAILQ_ENTRY(tcp_handshake) entry; /* of the server's, if it has a deadline */
    TAILQ_ENTRY(tcp_handshake) in_client;
    TAILQ_ENTRY(tcp_handshake) in_open; /* once begun */
    int64_t due_ms;                     /* 0: none */
    int64_t begun_ms;
    enum stage stage;
    bool is_late;
};

/* 40 MiB, as tcp_server.h says. */
_Static_assert(TCP_HANDSHAKES_MAX *TLS_HANDSHAKE_BYTES == 40 << 20, "the budget of handshakes");

/* ---- Deadlines ---- */

static void tcp_tls_start_timer(struct tcp_server *s)
{
    const struct tcp_handshake *first = TAILQ_FIRST(&s->handshakes);
    if (first && !ev_is_active(&s->handshake_timer)) {
        int64_t left_ms = first->due_ms - clock_monotonic_ms();
        ev_timer_set(&s->handshake_timer, left_ms > 0 ? (double)left_ms / 1000 : 0., 0.);
        ev_timer_start(s->config.loop, &s->handshake_timer);
    }
}

static void set_deadline(struct tcp_handshake *h)
{
    struct tcp_server *s = h->c->server;
    h->due_ms = clock_monotonic_ms() + s->config.handshake_ms;
    TAILQ_INSERT_TAIL(&s->handshakes, h, entry); /* all have as long: the first is due first */
    tcp_tls_start_timer(s);
}

static void forget_deadline(struct tcp_handshake *h)
{
    if (h->due_ms != 0) {
        TAILQ_REMOVE(&h->c->server->handshakes, h, entry);
        h->due_ms = 0;
    }
}

/* Ends overdue handshakes. One whose job is out ends when that comes back. */
static void tcp_tls_on_due(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct tcp_server *s = timer->data;
    int64_t now_ms = clock_monotonic_ms();
    struct tcp_handshake *h;
    while ((h = TAILQ_FIRST(&s->handshakes)) && h->due_ms <= now_ms) {
        forget_deadline(h);
        h->is_late = true;
        if (h->stage == OUT) {
            atomic_store_explicit(&h->job.is_unwanted, true, memory_order_relaxed);
        } else {
            tcp_connection_close(h->c, "handshake too slow");
        }
    }
    tcp_tls_start_timer(s);
}

/* ---- Beginning ---- */

static void tcp_tls_push(struct tcp_handshake *h)
{
    struct tcp_connection *c = h->c;
    h->stage = OUT;
    h->job.err = (struct err){0};
    c->server->at_pool++;
    c->waiting = 1; /* for us: no reason to call it idle */
    tcp_connection_sort_in(c);
    tls_handshakes_push(c->server->config.handshakes, &h->job);
}

static void streams_tcp_tls_begin(struct tcp_handshake *h)
{
    struct tcp_connection *c = h->c;
    struct ssl_ctx_st *context = tls_server_hold(c->kind->tls);
    c->tls = tls_session_accept(context, c->fd, c->kind->alpn);
    tls_server_release(context);
    h->job.session = c->tls;
    h->begun_ms = clock_monotonic_ms();
    forget_deadline(h);
    set_deadline(h);
    c->server->begun++;
    TAILQ_INSERT_TAIL(&c->server->open, h, in_open);
    tcp_clients_shake_hands(c->server->clients, c->who, c->who->handshakes + 1);
    tcp_tls_push(h);
}

/* Detaches the handshake from its connection. */
static void tcp_tls_detach(struct tcp_handshake *h)
{
    struct tcp_connection *c = h->c;
    TAILQ_REMOVE(&c->server->open, h, in_open);
    tcp_clients_shake_hands(c->server->clients, c->who, c->who->handshakes - 1);
}

static void tcp_tls_take_slot(struct tcp_handshake *h)
{
    struct tcp_client *client = h->c->who;
    if (TAILQ_EMPTY(&client->held)) {
        TAILQ_INSERT_TAIL(&h->c->server->held, client, in_turn);
    }
    TAILQ_INSERT_TAIL(&client->held, h, in_client);
    forget_deadline(h);
    h->stage = HELD;
}

static void tcp_tls_return_slot(struct tcp_handshake *h)
{
    struct tcp_client *client = h->c->who;
    TAILQ_REMOVE(&client->held, h, in_client);
    if (TAILQ_EMPTY(&client->held)) {
        TAILQ_REMOVE(&h->c->server->held, client, in_turn);
    }
}

/* Moves the client whose turn it is behind the others. */
static void tcp_tls_rotate(struct tcp_server *s)
{
    struct tcp_client *first = TAILQ_FIRST(&s->held);
    TAILQ_REMOVE(&s->held, first, in_turn);
    TAILQ_INSERT_TAIL(&s->held, first, in_turn);
}

/* Counts a begun handshake that has ended, and begins the next. */
static void tcp_tls_leave(struct tcp_server *s)
{
    s->begun--;
    if (!TAILQ_EMPTY(&s->held) && !s->draining) {
        struct tcp_handshake *next = TAILQ_FIRST(&TAILQ_FIRST(&s->held)->held);
        tcp_tls_rotate(s);
        tcp_tls_return_slot(next);
        streams_tcp_tls_begin(next);
    }
}

/* Chooses the handshake to end for one more of this client. Prefers that of another client with
 * more; else the oldest, if it takes its time and is another client's. So a node that comes back
 * with thousands of connections waits for itself. NULL: none, or another thread is at it. */
static struct tcp_handshake *tcp_tls_choose_victim(const struct tcp_server *s,
                                                   const struct tcp_client *client)
{
    const struct tcp_client *most = tcp_clients_most_handshakes(s->clients);
    struct tcp_handshake *victim = most ? TAILQ_FIRST(&most->slow) : NULL;
    if (victim && most->handshakes > 1 + client->handshakes) {
        return victim;
    }
    victim = TAILQ_FIRST(&s->open);
    return victim && victim->stage == SLOW && victim->c->who != client &&
                   victim->begun_ms + TCP_HANDSHAKE_SLOW_MS <= clock_monotonic_ms()
               ? victim
               : NULL;
}

/* Ends another handshake for the client, if one may be ended, and makes it the next to begin. */
static void tcp_tls_claim(struct tcp_server *s, struct tcp_client *client)
{
    struct tcp_handshake *victim = tcp_tls_choose_victim(s, client);
    if (victim) {
        TAILQ_REMOVE(&s->held, client, in_turn);
        TAILQ_INSERT_HEAD(&s->held, client, in_turn);
        tcp_connection_evict(victim->c);
    }
}

/* Watches once: the poller says no more until it is told again. */
static bool tcp_tls_watch(struct tcp_connection *c, enum tls_want want)
{
    c->events = (want == TLS_WANT_READ ? EPOLLIN : EPOLLOUT) | EPOLLONESHOT;
    if (c->set >= 0) {
        return tcp_poller_change(c->set, c->fd, c->events, c->ref);
    }
    c->set = tcp_poller_add(c->server->handshake_poller, c->who, c->fd, c->events, c->ref);
    return c->set >= 0;
}

void tcp_tls_begin(struct tcp_connection *c)
{
    struct tcp_server *s = c->server;
    struct tcp_handshake *h = xcalloc(1, sizeof(*h));
    h->job.turn.net = c->who->net;
    h->job.fd = c->fd;
    h->c = c;
    c->handshake = h;
    set_deadline(h);
    if (s->draining) {
        tcp_connection_close(c, "drained");
    } else if (!tcp_tls_watch(c, TLS_WANT_READ)) {
        tcp_connection_close(c, "no memory to wait for it");
    }
}

/* ---- Steps ---- */

static void tcp_tls_go_on(struct tcp_connection *c)
{
    struct tcp_handshake *h = c->handshake;
    if (h->stage == SLOW) {
        TAILQ_REMOVE(&c->who->slow, h, in_client);
        tcp_tls_push(h);
    } else if (h->stage == SILENT && c->server->begun < TCP_HANDSHAKES_MAX) {
        streams_tcp_tls_begin(h);
    } else if (h->stage == SILENT) {
        tcp_tls_take_slot(h);
        tcp_tls_claim(c->server, c->who);
    }
}

/* Returns true if there are as many steps as the pool has threads: another would wait anyhow until
 * one of these is done. */
static bool is_pool_busy(const struct tcp_server *s)
{
    return s->at_pool >= tls_handshakes_threads(s->config.handshakes);
}

/* Handles events. While the pool is busy, clients that say something do not wake this thread, which
 * would interrupt a step: the pool wakes it when a step is done, or a few. */
static void tcp_tls_on_events(void *data, const struct tcp_event *events, size_t count)
{
    struct tcp_server *s = data;
    if (count == TCP_EVENTS_A_TURN) {
        tcp_poller_resume(s->handshake_poller); /* one client's thousands keep nobody waiting */
    } else if (is_pool_busy(s)) {
        tcp_poller_rest(s->handshake_poller);
    }
    for (size_t i = 0; i < count; i++) {
        struct tcp_connection *c = tcp_server_find(s, events[i].connection);
        if (c && (events[i].events & (EPOLLHUP | EPOLLERR))) {
            tcp_connection_close(c, "reset by the client");
        } else if (c) {
            tcp_tls_go_on(c);
        }
    }
}

int tcp_tls_init(struct tcp_server *server, struct err *err)
{
    TAILQ_INIT(&server->handshakes);
    TAILQ_INIT(&server->held);
    TAILQ_INIT(&server->open);
    ev_init(&server->handshake_timer, tcp_tls_on_due);
    server->handshake_timer.data = server;
    const struct tcp_server_config *config = &server->config;
    return config->handshakes ? tcp_poller_new(config->loop, NULL, tcp_tls_on_events, server,
                                               &server->handshake_poller, err)
                              : 0;
}

void tcp_tls_drain(struct tcp_connection *c)
{
    if (c->handshake->stage != OUT) {
        tcp_connection_close(c, "drained");
    }
}

/* Waits for the client's next step; the next held handshake may have its place instead. */
static void wait_for_client(struct tcp_handshake *h)
{
    struct tcp_server *s = h->c->server;
    h->stage = SLOW;
    TAILQ_INSERT_TAIL(&h->c->who->slow, h, in_client);
    tcp_connection_sort_in(h->c);
    if (!TAILQ_EMPTY(&s->held)) {
        struct tcp_client *next = TAILQ_FIRST(&s->held);
        tcp_tls_rotate(s);
        tcp_tls_claim(s, next);
    }
}

static void tcp_tls_finish(struct tcp_handshake *h)
{
    struct tcp_connection *c = h->c;
    struct tcp_handshake_counts *counts = &c->server->handshake_counts;
    bool is_resumed = tls_session_is_resumed(c->tls);
    tcp_poller_remove(c->server->handshake_poller, c->fd);
    c->set = -1;
    forget_deadline(h);
    tcp_tls_detach(h);
    free(h);
    c->handshake = NULL;
    tcp_tls_leave(c->server);
    counts->resumed += is_resumed;
    counts->full += !is_resumed;
    tcp_connection_touch(c);
    tcp_stream_open(c);
    tcp_connection_settle(c, tcp_connection_read(c));
}

static void tcp_tls_take_step(struct tcp_handshake *h)
{
    struct tcp_connection *c = h->c;
    const char *why = NULL;
    c->waiting = 0;
    if (h->job.err.code != 0) {
        log_debug("handshake failed", LOG_STR("reason", h->job.err.msg));
        why = "handshake failed";
    } else if (h->job.want == TLS_WANT_NOTHING) {
        tcp_tls_finish(h);
        return;
    } else if (h->is_late) {
        why = "handshake too slow";
    } else if (c->server->draining) {
        why = "drained";
    } else if (!tcp_tls_watch(c, h->job.want)) {
        why = "no memory to wait for it";
    }
    if (why) {
        tcp_connection_close(c, why);
    } else {
        wait_for_client(h);
    }
}

/* Frees a handshake whose connection is closed. */
static void tcp_tls_free_closed(struct tcp_server *s, struct tcp_handshake *h)
{
    tls_session_free(h->job.session);
    (void)close(h->job.fd); /* nothing was sent but the handshake */
    free(h);
    tcp_tls_leave(s);
}

static void take_steps(struct tcp_server *server)
{
    struct tls_handshake_job *job;
    while ((job = tls_handshakes_pop(server->config.handshakes))) {
        struct tcp_handshake *h = (struct tcp_handshake *)job;
        server->at_pool--;
        if (h->c) {
            h->stage = BACK;
            tcp_tls_take_step(h);
        } else {
            tcp_tls_free_closed(server, h);
        }
    }
}

void tcp_server_take_handshakes(struct tcp_server *server)
{
    take_steps(server);
    if (tcp_poller_rests(server->handshake_poller)) {
        tcp_poller_take(server->handshake_poller);
        if (!is_pool_busy(server)) {
            tcp_poller_resume(server->handshake_poller);
        }
    }
}

const struct tcp_handshake_counts *tcp_server_handshakes(const struct tcp_server *server)
{
    return &server->handshake_counts;
}

/* ---- The end ---- */

/* Returns false if it goes on: begun, and the pool has the job. */
static bool end_handshake(struct tcp_connection *c, struct tcp_handshake *h)
{
    struct tcp_server *s = c->server;
    forget_deadline(h);
    s->handshake_counts.failed++;
    c->handshake = NULL;
    c->waiting = 0;
    if (h->stage == HELD) {
        tcp_tls_return_slot(h);
    } else if (h->stage != SILENT) {
        tcp_tls_detach(h);
    }
    if (h->stage == OUT) {
        h->c = NULL;
        atomic_store_explicit(&h->job.is_unwanted, true, memory_order_relaxed);
        (void)shutdown(c->fd, SHUT_RDWR); /* the client knows at once; else, when it is closed */
        return false;
    }
    if (h->stage == SLOW) {
        TAILQ_REMOVE(&c->who->slow, h, in_client);
    }
    if (h->stage == SLOW || h->stage == BACK) {
        tcp_tls_leave(s);
    }
    free(h);
    return true;
}

bool tcp_tls_close(struct tcp_connection *c)
{
    if (c->handshake && !end_handshake(c, c->handshake)) {
        return false;
    }
    tls_session_free(c->tls);
    c->tls = NULL;
    return true;
}

void tcp_tls_fini(struct tcp_server *server)
{
    ev_timer_stop(server->config.loop, &server->handshake_timer);
    if (server->config.handshakes) {
        take_steps(server);
    }
    tcp_poller_free(server->handshake_poller);
    assert(server->begun == 0);
}

/* ---- Bytes ---- */

ssize_t tcp_tls_recv(struct tcp_connection *c, uint8_t *out, size_t size)
{
    size_t got = 0;
    ssize_t n;
    do {
        n = tls_session_recv(c->tls, out + got, size - got);
        got += n > 0 ? (size_t)n : 0;
    } while (n > 0 && got < size && tls_session_pending(c->tls));
    /* Bytes that are left inside OpenSSL wake nobody, nor does an end that has been read. */
    c->has_more = n > 0 ? tls_session_pending(c->tls) : got > 0 && (n == 0 || errno != EAGAIN);
    return got > 0 ? (ssize_t)got : n;
}

ssize_t tcp_tls_send(struct tcp_connection *c, const uint8_t *bytes, size_t len)
{
    size_t sent = 0;
    ssize_t n = 0;
    while (sent < len && (n = tls_session_send(c->tls, bytes + sent, len - sent)) > 0) {
        sent += (size_t)n;
    }
    return sent > 0 ? (ssize_t)sent : n;
}
