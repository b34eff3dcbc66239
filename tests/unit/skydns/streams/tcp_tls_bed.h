/* A TCP server that speaks TLS, with real sessions and a pool of handshakes whose steps the test
 * makes, and its clients; all on one loop and one thread. One group in a program. */
#ifndef TESTS_UNIT_SKYDNS_STREAMS_TCP_TLS_BED_H
#define TESTS_UNIT_SKYDNS_STREAMS_TCP_TLS_BED_H

#include "tests/unit/skydns/streams/tcp_bed.h"

#include <fcntl.h>

#include "common/tls/tls_handshakes.h"
#include "tests/unit/skydns/streams/tls_bed.h"

enum { IDLE_MS = 60000, HANDSHAKE_MS = 5000 };

/* ---- The pool ---- */

TAILQ_HEAD(job_list, tls_handshake_job);

struct tls_handshakes {
    struct job_list queue, finished;
    bool is_held;     /* makes no step */
    unsigned threads; /* never as many jobs, unless a test says so */
};

static struct tls_handshakes pool;
static ev_async pool_wake;
static struct ev_loop *pool_loop; /* NULL: nobody to wake */

static inline void make_step(struct tls_handshake_job *job)
{
    if (tls_session_handshake(job->session, &job->want, &job->err) == 0) {
        assert_int_equal(job->err.code, 0);
    }
    TAILQ_INSERT_TAIL(&pool.finished, job, entry);
    if (pool_loop) {
        ev_async_send(pool_loop, &pool_wake);
    }
}

static inline void release_pool(void)
{
    struct tls_handshake_job *job;
    pool.is_held = false;
    while ((job = TAILQ_FIRST(&pool.queue))) {
        TAILQ_REMOVE(&pool.queue, job, entry);
        make_step(job);
    }
}

void tls_handshakes_push(struct tls_handshakes *handshakes, struct tls_handshake_job *job)
{
    assert_ptr_equal(handshakes, &pool);
    if (pool.is_held) {
        TAILQ_INSERT_TAIL(&pool.queue, job, entry);
    } else {
        make_step(job);
    }
}

struct tls_handshake_job *tls_handshakes_pop(struct tls_handshakes *handshakes)
{
    struct tls_handshake_job *job = TAILQ_FIRST(&handshakes->finished);
    if (job) {
        TAILQ_REMOVE(&handshakes->finished, job, entry);
    }
    return job;
}

/* The streams', which this program has not. */
struct tls_handshakes *tls_handshakes_new(const struct tls_handshakes_config *config)
{
    return &pool;
}

unsigned tls_handshakes_threads(const struct tls_handshakes *handshakes)
{
    return handshakes->threads;
}

int tls_handshakes_start(struct tls_handshakes *handshakes, struct err *err)
{
    return 0;
}

void tls_handshakes_stop(struct tls_handshakes *handshakes)
{
}

void tls_handshakes_free(struct tls_handshakes *handshakes)
{
}

static inline unsigned jobs_out(void)
{
    const struct tls_handshake_job *job;
    unsigned n = 0;
    TAILQ_FOREACH (job, &pool.queue, entry) {
        n++;
    }
    return n;
}

/* ---- The bed ---- */

static inline void on_pool_wake(struct ev_loop *loop, ev_async *wake, int revents)
{
    struct tcp_bed *f = wake->data;
    tcp_server_take_handshakes(f->server);
}

static inline struct tcp_bed *bed_of(struct tcp_bed_limits limits)
{
    pool = (struct tls_handshakes){.threads = TCP_HANDSHAKES_MAX + 1};
    TAILQ_INIT(&pool.queue);
    TAILQ_INIT(&pool.finished);
    limits.transport = ENGINE_TLS;
    limits.kind.tls = tls_server;
    limits.kind.alpn = limits.kind.alpn ? limits.kind.alpn : "dot";
    limits.buffers = TCP_BUFFERS_MAX;
    limits.handshakes = &pool;
    limits.handshake_ms = HANDSHAKE_MS;
    struct tcp_bed *f = tcp_bed_new(&limits);
    ev_async_init(&pool_wake, on_pool_wake);
    pool_wake.data = f;
    ev_async_start(f->loop, &pool_wake);
    pool_loop = f->loop;
    return f;
}

static inline struct tcp_bed *setup(size_t connections)
{
    return bed_of((struct tcp_bed_limits){.connections = connections, .idle_ms = IDLE_MS});
}

/* The pool is stopped: jobs come back as they are. */
static inline void finish(struct tcp_bed *f)
{
    pool_loop = NULL;
    ev_async_stop(f->loop, &pool_wake);
    TAILQ_CONCAT(&pool.finished, &pool.queue, entry);
    teardown(f);
    assert_true(TAILQ_EMPTY(&pool.finished));
}

static inline const struct tcp_handshake_counts *handshakes(const struct tcp_bed *f)
{
    return tcp_server_handshakes(f->server);
}

/* ---- Clients ---- */

struct peer {
    int fd;
    struct tls_session *session;
};

static inline struct peer begin_as(struct tcp_bed *f, uint8_t n, const char *protocol,
                                   struct ssl_session_st *ticket)
{
    struct peer p = {.fd = connect_from(f, n)};
    assert_int_equal(fcntl(p.fd, F_SETFL, O_NONBLOCK), 0);
    p.session = tls_session_connect(tls_client, p.fd, "127.0.0.1", protocol, ticket);
    return p;
}

/* One step; false: it is done, or has failed. */
static inline bool step(struct peer *p)
{
    enum tls_want want;
    struct err err;
    return tls_session_handshake(p->session, &want, &err) == 0 && want != TLS_WANT_NOTHING;
}

static inline struct peer connect_tls(struct tcp_bed *f, uint8_t n)
{
    struct peer p = begin_as(f, n, "dot", NULL);
    while (step(&p)) {
        ev_run(f->loop, EVRUN_NOWAIT);
    }
    assert_string_equal(tls_session_protocol(p.session), "dot");
    return p;
}

static inline void hang_up(struct peer *p)
{
    tls_session_free(p->session);
    close(p->fd);
}

static inline void say(struct tcp_bed *f, const struct peer *p, const void *bytes, size_t len)
{
    size_t sent = 0;
    while (sent < len) {
        ssize_t n = tls_session_send(p->session, (const uint8_t *)bytes + sent, len - sent);
        assert_true(n > 0 || errno == EAGAIN);
        sent += n > 0 ? (size_t)n : 0;
        ev_run(f->loop, EVRUN_NOWAIT);
    }
}

/* False: the end came first. */
static inline bool hear(struct tcp_bed *f, const struct peer *p, void *bytes, size_t len)
{
    size_t got = 0;
    while (got < len) {
        ssize_t n = tls_session_recv(p->session, (uint8_t *)bytes + got, len - got);
        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            return false;
        }
        got += n > 0 ? (size_t)n : 0;
        if (n < 0) {
            ev_run(f->loop, EVRUN_NOWAIT);
        }
    }
    return true;
}

static inline void assert_heard(struct tcp_bed *f, const struct peer *p, const char *want)
{
    uint8_t prefix[2];
    char body[256] = "";
    assert_true(hear(f, p, prefix, 2));
    size_t len = (size_t)(prefix[0] << 8 | prefix[1]);
    assert_true(len < sizeof(body));
    assert_true(hear(f, p, body, len));
    assert_string_equal(body, want);
}

static inline void assert_hung_up(struct tcp_bed *f, struct peer *p)
{
    uint8_t byte;
    assert_false(hear(f, p, &byte, 1));
    hang_up(p);
}

static inline void run_some(struct tcp_bed *f)
{
    for (int i = 0; i < 10; i++) {
        ev_run(f->loop, EVRUN_NOWAIT);
    }
}

#endif
