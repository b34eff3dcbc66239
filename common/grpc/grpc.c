#include "common/grpc/grpc.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/grpc/grpc_state_internal.h"

/* Sizes one read, and the output batched for one write. */
enum { READ_SIZE = 65536, WRITE_SIZE = 65536 };

/* Bounds the reads per loop turn before other watchers get a chance: 1 MB. */
enum { READS_PER_TURN = 16 };

static const ev_tstamp ping_limit_s = 3.0;

/* Runs after everything else in a turn that may produce output; EV_MINPRI is left to others. */
enum { FLUSH_PRIORITY = EV_MINPRI + 1 };

/* ---- The end of the connection ---- */

static bool is_finished(const struct grpc *g)
{
    return g->is_closed || g->is_freed;
}

void grpc_want_flush(struct grpc *g)
{
    if (!is_finished(g)) {
        ev_feed_event(g->config.loop, &g->flush, EV_PREPARE);
    }
}

static void grpc_stop_watchers(struct grpc *g)
{
    struct ev_loop *loop = g->config.loop;
    ev_io_stop(loop, &g->readable);
    ev_io_stop(loop, &g->writable);
    ev_prepare_stop(loop, &g->flush);
    ev_timer_stop(loop, &g->open_limit);
    ev_timer_stop(loop, &g->ping);
    ev_timer_stop(loop, &g->ping_limit);
    transport_close(&g->transport);
}

/* Call this only from a loop callback and outside nghttp2. */
static void connection_close(struct grpc *g, const struct err *reason)
{
    if (g->is_closed || g->is_freed) {
        return;
    }
    const struct err err = *reason; /* it may point into `g` and change below */
    g->is_closed = true;
    g->is_open = false;
    grpc_stop_watchers(g);
    /* A callback may cancel other streams but never frees them: nghttp2 or grpc_free does. */
    struct grpc_stream *s;
    TAILQ_FOREACH (s, &g->streams, link) {
        grpc_stream_end(s, GRPC_STATUS_NONE, &err);
    }
    if (!g->is_freed) {
        g->config.on_close(g->config.data, &err);
    }
}

static void grpc_destroy(struct grpc *g)
{
    nghttp2_session_del(g->session);
    while (!TAILQ_EMPTY(&g->streams)) {
        grpc_stream_free(TAILQ_FIRST(&g->streams));
    }
    buf_fini(&g->out);
    free(g->authority);
    free(g);
}

static void grpc_enter(struct grpc *g)
{
    g->depth++;
}

static void grpc_leave(struct grpc *g)
{
    g->depth--;
    if (g->is_freed && g->depth == 0) {
        grpc_destroy(g);
    }
}

/* ---- Socket ---- */

/* Returns true when more may be waiting. */
static bool read_once(struct grpc *g)
{
    uint8_t bytes[READ_SIZE];
    struct err err;
    ssize_t n = transport_read(&g->transport, bytes, sizeof(bytes), &err);
    if (n < 0) {
        connection_close(g, g->failure.code ? &g->failure : &err);
        return false;
    }
    g->last_heard_ms = n > 0 ? clock_monotonic_ms() : g->last_heard_ms;
    /* A broken peer makes nghttp2 queue GOAWAY and want nothing more; on_flush sees it. */
    ssize_t used = nghttp2_session_mem_recv(g->session, bytes, (size_t)n);
    if (used < 0 && !g->is_freed) {
        err_set(&err, ERR_PROTOCOL, "HTTP/2: %s", nghttp2_strerror((int)used));
        connection_close(g, &err);
    }
    bool is_full = n > READ_SIZE - TRANSPORT_READ_SLACK;
    return !is_finished(g) && (is_full || transport_is_at_end(&g->transport));
}

void grpc_read_pending(struct grpc *g)
{
    /* The window bounds what a peer can send while we do not read. */
    size_t reads = GRPC_CONNECTION_WINDOW / READ_SIZE;
    grpc_enter(g);
    for (size_t i = 0; i < reads && g->is_connected && !is_finished(g) && read_once(g); i++) {
    }
    grpc_leave(g);
}

static int grpc_gather(struct grpc *g, struct err *err)
{
    while (g->out.len < WRITE_SIZE) {
        const uint8_t *bytes;
        ssize_t n = nghttp2_session_mem_send(g->session, &bytes);
        if (n < 0) {
            return err_set(err, ERR_PROTOCOL, "HTTP/2: %s", nghttp2_strerror((int)n));
        }
        if (n == 0) {
            break;
        }
        buf_append(&g->out, bytes, (size_t)n);
    }
    return 0;
}

static void write_output(struct grpc *g)
{
    struct err err;
    for (;;) {
        if (grpc_gather(g, &err) != 0) {
            connection_close(g, &err);
            return;
        }
        if (g->out.len == 0 || is_finished(g)) {
            ev_io_stop(g->config.loop, &g->writable);
            return;
        }
        ssize_t n = transport_write(&g->transport, buf_slice(&g->out), &err);
        if (n < 0) {
            grpc_read_pending(g); /* its last bytes: a response, or GOAWAY */
            connection_close(g, g->failure.code ? &g->failure : &err);
            return;
        }
        if (n == 0) {
            ev_io_start(g->config.loop, &g->writable);
            return;
        }
        buf_consume(&g->out, (size_t)n);
    }
}

/* Takes one step of connecting. */
static void grpc_advance(struct grpc *g)
{
    struct ev_loop *loop = g->config.loop;
    enum tls_wait wait;
    struct err err;
    if (transport_advance(&g->transport, &wait, &err) != 0) {
        connection_close(g, &err);
        return;
    }
    if (wait == TLS_WRITABLE) {
        ev_io_start(loop, &g->writable);
        return;
    }
    ev_io_stop(loop, &g->writable);
    ev_io_start(loop, &g->readable);
    if (wait == TLS_NOTHING) {
        g->is_connected = true;
        write_output(g);
    }
}

static void grpc_on_readable(struct ev_loop *loop UNUSED, ev_io *w, int events UNUSED)
{
    struct grpc *g = w->data;
    grpc_enter(g);
    if (g->is_connected) {
        for (unsigned i = 0; i < READS_PER_TURN && read_once(g); i++) {
        }
    } else {
        grpc_advance(g);
    }
    grpc_leave(g);
}

static void on_flush(struct ev_loop *loop UNUSED, ev_prepare *w, int events UNUSED)
{
    struct grpc *g = w->data;
    grpc_enter(g);
    if (g->is_connected && !ev_is_active(&g->writable)) {
        write_output(g);
    }
    if (g->is_draining) {
        grpc_streams_end_unsubmitted(g);
    }
    bool is_dead =
        !nghttp2_session_want_read(g->session) && !nghttp2_session_want_write(g->session);
    if (g->is_draining && g->active_count == 0) {
        connection_close(g, &g->failure);
    } else if (is_dead) {
        struct err err;
        err_set(&err, ERR_PROTOCOL, "the peer broke HTTP/2, or does not speak it");
        connection_close(g, &err);
    }
    grpc_leave(g);
}

static void on_writable(struct ev_loop *loop UNUSED, ev_io *w, int events UNUSED)
{
    struct grpc *g = w->data;
    grpc_enter(g);
    if (g->is_connected) {
        write_output(g);
    } else {
        grpc_advance(g);
    }
    grpc_leave(g);
}

/* ---- Time ---- */

static void on_open_limit(struct ev_loop *loop UNUSED, ev_timer *w, int events UNUSED)
{
    struct grpc *g = w->data;
    grpc_enter(g);
    grpc_read_pending(g);
    if (!g->is_open && !is_finished(g)) {
        if (!g->failure.code) {
            err_set(&g->failure, ERR_UNAVAILABLE, "no %s within %u ms",
                    g->is_connected ? "HTTP/2 SETTINGS" : transport_stage(&g->transport),
                    g->config.open_timeout_ms);
        }
        connection_close(g, &g->failure);
    }
    grpc_leave(g);
}

static void on_ping(struct ev_loop *loop, ev_timer *w, int events UNUSED)
{
    struct grpc *g = w->data;
    if (g->is_open && g->long_count > 0 && !ev_is_active(&g->ping_limit)) {
        /* This fails only without memory, which xalloc excludes. */
        (void)nghttp2_submit_ping(g->session, NGHTTP2_FLAG_NONE, NULL);
        timer_arm(loop, &g->ping_limit, ping_limit_s);
        grpc_want_flush(g);
    }
}

static void on_ping_limit(struct ev_loop *loop UNUSED, ev_timer *w, int events UNUSED)
{
    struct grpc *g = w->data;
    grpc_enter(g);
    /* The timer has stopped itself; restart it to see whether the answer was only unread. */
    timer_arm(loop, w, ping_limit_s);
    grpc_read_pending(g);
    if (ev_is_active(w)) {
        struct err err;
        err_set(&err, ERR_UNAVAILABLE, "no answer to a PING within %.0f s", ping_limit_s);
        connection_close(g, &err);
    }
    grpc_leave(g);
}

/* ---- Lifecycle ---- */

struct grpc *grpc_new(const struct grpc_config *config)
{
    struct grpc *g = xcalloc(1, sizeof(*g));
    struct ev_loop *loop = config->loop;
    g->config = *config;
    g->authority = xstrdup(config->authority);
    g->config.authority = g->authority;
    g->session = grpc_session_new(g);
    TAILQ_INIT(&g->streams);
    /* Holds at most the batch and one more frame of 16 KiB with its header. */
    buf_init(&g->out, WRITE_SIZE * 2);

    const struct transport_config transport = {
        .address = config->address, .tls = config->tls, .server_name = config->server_name};
    int rc = transport_connect(&g->transport, &transport, &g->failure);
    ev_io_init(&g->readable, grpc_on_readable, g->transport.fd, EV_READ);
    ev_io_init(&g->writable, on_writable, g->transport.fd, EV_WRITE);
    ev_prepare_init(&g->flush, on_flush);
    ev_set_priority(&g->flush, FLUSH_PRIORITY);
    ev_timer_init(&g->open_limit, on_open_limit, rc ? 0.0 : config->open_timeout_ms / 1000.0, 0.0);
    double interval_s = config->ping_interval_ms / 1000.0;
    ev_timer_init(&g->ping, on_ping, interval_s, interval_s);
    ev_init(&g->ping_limit, on_ping_limit);
    g->readable.data = g->writable.data = g->flush.data = g;
    g->open_limit.data = g->ping.data = g->ping_limit.data = g;

    ev_now_update(loop); /* the timeout counts from now, however long the caller has worked */
    ev_timer_start(loop, &g->open_limit);
    if (rc == 0) {
        ev_io_start(loop, &g->writable);
        ev_prepare_start(loop, &g->flush);
    }
    if (config->ping_interval_ms > 0) {
        ev_timer_start(loop, &g->ping);
    }
    return g;
}

void grpc_free(struct grpc *g)
{
    if (!g || g->is_freed) {
        return;
    }
    struct grpc_stream *s;
    TAILQ_FOREACH (s, &g->streams, link) {
        if (!s->is_ended) {
            grpc_stream_retire(s);
        }
    }
    g->is_freed = true;
    g->is_open = false;
    grpc_stop_watchers(g);
    if (g->depth == 0) {
        grpc_destroy(g);
    }
}

bool grpc_is_open(const struct grpc *g)
{
    return g->is_open;
}

bool grpc_was_closed_for_pings(const struct grpc *g)
{
    return g->is_pinged_too_often;
}

int64_t grpc_last_heard_ms(const struct grpc *g)
{
    return g->last_heard_ms;
}
