/* Workers and resolver together, with the real engine and store, on real sockets on loopback; the
 * test is their client and their nameserver. */
#ifndef TESTS_UNIT_SKYDNS_RESOLVER_RESOLVER_BED_H
#define TESTS_UNIT_SKYDNS_RESOLVER_RESOLVER_BED_H

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "common/base/cursor.h"
#include "common/dns/record.h"
#include "skydns/engine/engine.h"
#include "skydns/external/cache.h"
#include "skydns/external/cache_counts.h"
#include "skydns/external/zone_table.h"
#include "skydns/listen/listen_socket.h"
#include "skydns/publish/publisher.h"
#include "skydns/publish/recursion.h"
#include "skydns/resolver/deferred.h"
#include "skydns/resolver/resolver.h"
#include "skydns/streams/plain_tcp.h"
#include "skydns/tap/query_tap.h"
#include "skydns/udp/udp_server.h"
#include "skydns/udp/worker.h"
#include "tests/support/from_text.h"
#include "tests/support/loopback.h"
#include "tests/support/skydns/records.h"
#include "tests/support/unit_test.h"

static const struct query_tap untapped;

enum { WORKERS = 2, TIMEOUT_S = 20, ATTEMPTS = 100 };
enum { A = 1, CNAME = 5, HINFO = 13, IN = 1 };
enum { NOERROR = 0, SERVFAIL = 2, REFUSED = 5 };

struct fixture {
    struct cache_tally *tally;
    uint32_t stale_wait_ms;
    struct recursion recursion;
    uint32_t timeout_ms; /* per attempt at the nameserver */
    uint32_t pool_answer_ms, pool_wait_ms;
    struct store_writer *writer;
    struct publisher *publisher;
    struct addr address;
    struct addr upstream_address;
    int upstream_udp;
    int upstream_tcp;
    struct resolver *resolver;
    struct plain_tcp *plain_tcp;
    struct engine *resolver_engine, *scan_engine, *sign_engine;
    struct udp_server *udp[WORKERS];
    struct engine *engines[WORKERS];
    struct worker *workers[WORKERS];
};

/* ---- Sockets ---- */

static inline int patient_socket(int type)
{
    struct timeval timeout = {.tv_sec = TIMEOUT_S};
    int fd = socket(AF_INET, type, 0), on = 1;
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
    return fd;
}

/* One port for UDP and TCP. */
static inline void open_upstream(struct fixture *f)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        struct addr a = loopback_addr(loopback_free_port());
        f->upstream_udp = patient_socket(SOCK_DGRAM);
        f->upstream_tcp = patient_socket(SOCK_STREAM);
        if (bind(f->upstream_tcp, &a.sa, a.len) == 0 && bind(f->upstream_udp, &a.sa, a.len) == 0 &&
            listen(f->upstream_tcp, 4) == 0) {
            f->upstream_address = a;
            return;
        }
        close(f->upstream_udp);
        close(f->upstream_tcp);
    }
    fail_msg("no free port");
}

/* Call after publish: the loop iteration that accepts a connection also reads from it, and answers
 * from the version current when it began. */
static inline int client(const struct fixture *f, int type)
{
    int fd = patient_socket(type);
    assert_int_equal(connect(fd, &f->address.sa, f->address.len), 0);
    return fd;
}

/* ---- Messages ---- */

struct message {
    size_t len;
    uint8_t wire[4096];
};

static inline struct message question(uint16_t id, const char *name_text)
{
    struct message m;
    struct dname name = dname_from(name_text);
    struct writer w = writer_of(m.wire, sizeof(m.wire));
    writer_u16(&w, id);
    writer_u16(&w, 0x0100);
    writer_u16(&w, 1);
    writer_u16(&w, 0);
    writer_u32(&w, 0);
    writer_bytes(&w, name.wire, name.len);
    writer_u16(&w, A);
    writer_u16(&w, IN);
    m.len = w.pos;
    return m;
}

/* Turns a received query into the reply, with one address, 192.0.2.80. */
static inline void make_reply(struct message *m, const char *want_name)
{
    static const uint8_t rr[] = {0xc0, 12, 0, A, 0, IN, 0, 0, 0, 60, 0, 4, 192, 0, 2, 80};
    struct dname want = dname_from(want_name), name;
    struct reader r = reader_of(m->wire, m->len);
    reader_seek(&r, 12);
    assert_true(dname_read(&r, &name));
    assert_true(dname_equal(&name, &want));
    size_t end = r.pos + 4; /* drops what follows (OPT) */
    memcpy(m->wire + end, rr, sizeof(rr));
    m->len = end + sizeof(rr);
    m->wire[2] |= 0x80;
    m->wire[3] = 0x80;
    m->wire[7] = 1;
    m->wire[11] = 0;
}

static inline uint16_t id_of(const struct message *m)
{
    return (uint16_t)(m->wire[0] << 8 | m->wire[1]);
}

static inline unsigned rcode_of(const struct message *m)
{
    return m->wire[3] & 0xf;
}

static inline unsigned answers_in(const struct message *m)
{
    return (unsigned)(m->wire[6] << 8 | m->wire[7]);
}

static inline struct message receive_udp(int fd)
{
    struct message m;
    ssize_t n = recv(fd, m.wire, sizeof(m.wire), 0);
    assert_in_range(n, 12, sizeof(m.wire));
    m.len = (size_t)n;
    return m;
}

static inline void receive_exactly(int fd, void *bytes, size_t len)
{
    assert_int_equal(recv(fd, bytes, len, MSG_WAITALL), len);
}

static inline struct message receive_tcp(int fd)
{
    struct message m;
    uint8_t prefix[2];
    receive_exactly(fd, prefix, 2);
    m.len = (size_t)(prefix[0] << 8 | prefix[1]);
    assert_in_range(m.len, 12, sizeof(m.wire));
    receive_exactly(fd, m.wire, m.len);
    return m;
}

static inline void send_tcp(int fd, const struct message *m)
{
    uint8_t frame[2 + sizeof(m->wire)] = {(uint8_t)(m->len >> 8), (uint8_t)m->len};
    memcpy(frame + 2, m->wire, m->len);
    assert_int_equal(send(fd, frame, 2 + m->len, MSG_NOSIGNAL), 2 + m->len);
}

static inline void send_udp(int fd, const struct message *m)
{
    assert_int_equal(send(fd, m->wire, m->len, 0), m->len);
}

/* ---- The servers ---- */

static inline int open_servers(struct fixture *f)
{
    struct err err = {0};
    struct listen_socket tcp, udp;
    int r = listen_tcp(&f->address, false, &tcp, &err);
    if (r == -EADDRINUSE) {
        return r;
    }
    const struct resolver_config config = {
        .sockets_max = 16,
        .cache_tally = f->tally,
        .stale_wait_ms = f->stale_wait_ms,
        .recursion = &f->recursion,
        .engine = f->resolver_engine,
        .reader = publisher_reader_new(f->publisher),
        .walker = {f->scan_engine, publisher_reader_new(f->publisher)},
        .signers = {{f->sign_engine, publisher_reader_new(f->publisher)}},
        .signer_count = 1,
        .pool_answer_ms = f->pool_answer_ms,
        .pool_wait_ms = f->pool_wait_ms,
        .workers = WORKERS,
        .tap = &untapped};
    if (r == 0) {
        r = resolver_new(&config, &f->resolver, &err);
    }
    if (r == 0) {
        const struct plain_tcp_config tcp_config = {
            .sockets = &tcp, .socket_count = 1, .connections_max = 64, .resolver = f->resolver};
        r = plain_tcp_new(&tcp_config, &f->plain_tcp, &err);
    }
    for (unsigned i = 0; i < WORKERS && r == 0; i++) {
        const struct udp_server_config udp_config = {&udp, 1232};
        r = listen_udp(&f->address, false, &udp, &err);
        if (r == 0) {
            r = udp_server_new(&udp_config, &f->udp[i], &err);
        }
    }
    assert_that(r >= 0 || r == -EADDRINUSE, "%s", err.msg);
    return r;
}

static inline void close_servers(struct fixture *f)
{
    plain_tcp_free(f->plain_tcp);
    f->plain_tcp = NULL;
    resolver_free(f->resolver);
    f->resolver = NULL;
    for (unsigned i = 0; i < WORKERS; i++) {
        udp_server_free(f->udp[i]);
        f->udp[i] = NULL;
    }
}

static inline void start_resolver(struct fixture *f)
{
    struct err err;
    const struct forwarder_rules rules = {.timeout_ms = f->timeout_ms};
    resolver_set_rules(f->resolver, &rules);
    assert_int_equal(resolver_start(f->resolver, &err), 0);
}

static inline void start_workers(struct fixture *f)
{
    struct err err;
    for (unsigned i = 0; i < WORKERS; i++) {
        f->engines[i] = engine_new(publisher_newest_config(f->publisher));
        const struct worker_config config = {.index = i,
                                             .tap = &untapped,
                                             .udp = f->udp[i],
                                             .engine = f->engines[i],
                                             .reader = publisher_reader_new(f->publisher),
                                             .resolver = f->resolver};
        assert_int_equal(worker_start(&config, &f->workers[i], &err), 0);
    }
}

/* Changes the configuration before it is published; `f` has the nameserver's address. NULL: it has
 * one nameserver and no cache. */
typedef void (*configure_fn)(struct fixture *f, struct engine_config *config);

/* Everything but the threads. */
static inline struct fixture *setup_still_with(uint32_t timeout_ms, uint32_t stale_wait_ms,
                                               configure_fn configure)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct dname domain = dname_from("cluster.local."), hostmaster = dname_from("h.cluster.local.");
    struct engine_config *config = xcalloc(1, sizeof(*config));
    *config = (struct engine_config){
        .settings =
            {.ttl_s = 3600, .min_ttl_s = 60, .priority = 10, .max_udp_size = 1232, .ndots = 2},
        .has_nameservers = true,
    };
    assert_true(engine_config_add_domain(config, &domain, &hostmaster));
    open_upstream(f);
    const struct forward_zone root = {
        .name = {.len = 1}, .server_count = 1, .servers = {{.address = f->upstream_address}}};
    config->zones_of_others = zone_table_new(&root, 1, NULL);
    f->tally = cache_tally_new();
    f->stale_wait_ms = stale_wait_ms;
    config->cache_tally = f->tally;
    if (configure) {
        configure(f, config);
    }
    f->writer = store_writer_new();
    f->publisher = publisher_new();
    publisher_configure(f->publisher, config);
    f->resolver_engine = engine_new(config);
    f->scan_engine = engine_new(config);
    f->sign_engine = engine_new(config);
    assert_int_equal(recursion_init(&f->recursion, "127.0.0.0/8", NULL), 0);
    f->timeout_ms = timeout_ms;
    f->pool_answer_ms = f->pool_wait_ms = TIMEOUT_S * 1000;
    do {
        close_servers(f);
        f->address = loopback_addr(loopback_free_port());
    } while (open_servers(f) < 0);
    return f;
}

static inline struct fixture *setup_still(uint32_t timeout_ms)
{
    return setup_still_with(timeout_ms, RESOLVER_STALE_WAIT_MS, NULL);
}

static inline void start_threads(struct fixture *f)
{
    start_resolver(f);
    start_workers(f);
}

static inline struct fixture *setup(uint32_t timeout_ms)
{
    struct fixture *f = setup_still(timeout_ms);
    start_threads(f);
    return f;
}

static inline void stop(struct fixture *f)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        udp_server_stop(f->udp[i]);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        worker_join(f->workers[i]);
    }
    plain_tcp_stop(f->plain_tcp);
    resolver_stop(f->resolver);
}

static inline struct query_sums counts(const struct fixture *f)
{
    struct query_sums sum = {0};
    for (unsigned i = 0; i < WORKERS; i++) {
        worker_sums_add(f->workers[i], &sum);
    }
    return sum;
}

/* After stop. */
static inline void teardown(struct fixture *f)
{
    close_servers(f);
    engine_free(f->resolver_engine);
    engine_free(f->scan_engine);
    engine_free(f->sign_engine);
    for (unsigned i = 0; i < WORKERS; i++) {
        worker_free(f->workers[i]);
        engine_free(f->engines[i]);
    }
    publisher_free(f->publisher);
    cache_tally_free(f->tally);
    store_writer_free(f->writer);
    close(f->upstream_udp);
    close(f->upstream_tcp);
    free(f);
}

static inline void put_host(struct fixture *f, const char *name_text, const char *host)
{
    struct dname name = dname_from(name_text);
    struct record record;
    record = (struct record){.ttl_s = 0};
    record.host = slice_str(host);
    records_put(f->writer, &name, &record, 1);
}

static inline void publish_as(struct fixture *f, int64_t revision)
{
    struct store_garbage *garbage;
    const struct store *store = store_writer_commit(f->writer, revision, &garbage);
    publisher_publish(f->publisher, store, garbage);
}

static inline void publish(struct fixture *f)
{
    publish_as(f, 1);
}

static inline bool is_hinfo(const struct message *m)
{
    struct dname name;
    struct reader r = reader_of(m->wire, m->len);
    reader_seek(&r, 12);
    return dname_read(&r, &name) && reader_u16(&r) == HINFO;
}

/* The next query at the nameserver over UDP. Skips HINFO, which the resolver asks to find out
 * whether the nameserver leads back to it. */
static inline struct message receive_as_upstream(struct fixture *f, struct addr *ret_from)
{
    struct message m;
    do {
        ret_from->len = sizeof(ret_from->v6);
        ssize_t n =
            recvfrom(f->upstream_udp, m.wire, sizeof(m.wire), 0, &ret_from->sa, &ret_from->len);
        assert_in_range(n, 12, sizeof(m.wire));
        m.len = (size_t)n;
    } while (is_hinfo(&m));
    return m;
}

static inline void answer_as_upstream(struct fixture *f, const char *want_name)
{
    struct addr from;
    struct message m = receive_as_upstream(f, &from);
    make_reply(&m, want_name);
    assert_int_equal(sendto(f->upstream_udp, m.wire, m.len, 0, &from.sa, from.len), m.len);
}

static inline int client_from(const struct fixture *f, const char *ip_text, int type)
{
    struct ip ip = ip_from(ip_text);
    struct addr from = addr_of_ip(&ip, 0);
    int fd = patient_socket(type);
    assert_int_equal(bind(fd, &from.sa, from.len), 0);
    assert_int_equal(connect(fd, &f->address.sa, f->address.len), 0);
    return fd;
}

static inline void wait_in_hand(const struct fixture *f, size_t count)
{
    while (counter_get(&resolver_counts(f->resolver)->in_hand) != count) {
        (void)sched_yield();
    }
}

#endif
