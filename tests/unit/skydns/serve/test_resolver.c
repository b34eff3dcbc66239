/* Workers and resolver together, with the real engine and store: deferred queries over UDP and TCP,
 * with this test as the nameserver; and shutdown. Real sockets on loopback. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cursor.h"
#include "common/base/xalloc.h"
#include "common/dns/record.h"
#include "skydns/answer/engine.h"
#include "skydns/foreign/zone_table.h"
#include "skydns/serve/deferred.h"
#include "skydns/serve/listen_socket.h"
#include "skydns/serve/resolver.h"
#include "skydns/serve/udp_server.h"
#include "skydns/serve/worker.h"
#include "skydns/store/snapshot.h"
#include "skydns/upstream/recursion.h"
#include "tests/support/loopback.h"
#include "tests/support/skydns/records.h"

enum { WORKERS = 2, PATIENCE_S = 20, ATTEMPTS = 100 };
enum { A = 1, CNAME = 5, HINFO = 13, IN = 1 };
enum { NOERROR = 0, SERVFAIL = 2 };

struct fixture {
    struct recursion recursion;
    uint32_t timeout_ms; /* per attempt at the nameserver */
    uint32_t walk_ms, walk_wait_ms;
    struct store_writer *writer;
    struct snapshot *snapshot;
    struct addr address;
    struct addr upstream_address;
    int upstream_udp;
    int upstream_tcp;
    struct resolver *resolver;
    struct engine *resolver_engine, *walk_engine;
    struct udp_server *udp[WORKERS];
    struct engine *engines[WORKERS];
    struct worker *workers[WORKERS];
};

/* ---- Sockets ---- */

static int patient_socket(int type)
{
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd = socket(AF_INET, type, 0), on = 1;
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
    return fd;
}

/* One port for UDP and TCP. */
static void open_upstream(struct fixture *f)
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
static int client(const struct fixture *f, int type)
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

static struct dname name_of(const char *text)
{
    struct dname name = {0};
    assert_true(dname_from_text(slice_str(text), &name));
    return name;
}

static struct message question(uint16_t id, const char *name_text)
{
    struct message m;
    struct dname name = name_of(name_text);
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
static void make_reply(struct message *m, const char *want_name)
{
    static const uint8_t rr[] = {0xc0, 12, 0, A, 0, IN, 0, 0, 0, 60, 0, 4, 192, 0, 2, 80};
    struct dname want = name_of(want_name), name;
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

static uint16_t id_of(const struct message *m)
{
    return (uint16_t)(m->wire[0] << 8 | m->wire[1]);
}

static unsigned rcode_of(const struct message *m)
{
    return m->wire[3] & 0xf;
}

static unsigned answers_in(const struct message *m)
{
    return (unsigned)(m->wire[6] << 8 | m->wire[7]);
}

static struct message receive_udp(int fd)
{
    struct message m;
    ssize_t n = recv(fd, m.wire, sizeof(m.wire), 0);
    assert_in_range(n, 12, sizeof(m.wire));
    m.len = (size_t)n;
    return m;
}

static void receive_exactly(int fd, void *bytes, size_t len)
{
    assert_int_equal(recv(fd, bytes, len, MSG_WAITALL), len);
}

static struct message receive_tcp(int fd)
{
    struct message m;
    uint8_t prefix[2];
    receive_exactly(fd, prefix, 2);
    m.len = (size_t)(prefix[0] << 8 | prefix[1]);
    assert_in_range(m.len, 12, sizeof(m.wire));
    receive_exactly(fd, m.wire, m.len);
    return m;
}

static void send_tcp(int fd, const struct message *m)
{
    uint8_t frame[2 + sizeof(m->wire)] = {(uint8_t)(m->len >> 8), (uint8_t)m->len};
    memcpy(frame + 2, m->wire, m->len);
    assert_int_equal(send(fd, frame, 2 + m->len, MSG_NOSIGNAL), 2 + m->len);
}

static void send_udp(int fd, const struct message *m)
{
    assert_int_equal(send(fd, m->wire, m->len, 0), m->len);
}

/* ---- The servers ---- */

static int open_servers(struct fixture *f)
{
    struct err err = {0};
    struct listen_socket tcp, udp;
    int r = listen_tcp(&f->address, false, &tcp, &err);
    if (r == -EADDRINUSE) {
        return r;
    }
    const struct resolver_config config = {.sockets = &tcp,
                                           .socket_count = 1,
                                           .connections_max = 64,
                                           .sockets_max = 16,
                                           .recursion = &f->recursion,
                                           .engine = f->resolver_engine,
                                           .reader = snapshot_reader_new(f->snapshot),
                                           .walk_engine = f->walk_engine,
                                           .walk_reader = snapshot_reader_new(f->snapshot),
                                           .walk_ms = f->walk_ms,
                                           .walk_wait_ms = f->walk_wait_ms,
                                           .workers = WORKERS};
    if (r == 0) {
        r = resolver_new(&config, &f->resolver, &err);
    }
    for (unsigned i = 0; i < WORKERS && r == 0; i++) {
        const struct udp_server_config udp_config = {&udp, 1232};
        r = listen_udp(&f->address, false, &udp, &err);
        if (r == 0) {
            r = udp_server_new(&udp_config, &f->udp[i], &err);
        }
    }
    if (r < 0 && r != -EADDRINUSE) {
        fail_msg("%s", err.msg);
    }
    return r;
}

static void close_servers(struct fixture *f)
{
    resolver_free(f->resolver);
    f->resolver = NULL;
    for (unsigned i = 0; i < WORKERS; i++) {
        udp_server_free(f->udp[i]);
        f->udp[i] = NULL;
    }
}

static void start_resolver(struct fixture *f)
{
    struct err err;
    const struct forwarder_rules rules = {.timeout_ms = f->timeout_ms};
    resolver_set_rules(f->resolver, &rules);
    assert_int_equal(resolver_start(f->resolver, &err), 0);
}

static void start_workers(struct fixture *f)
{
    struct err err;
    for (unsigned i = 0; i < WORKERS; i++) {
        f->engines[i] = engine_new(snapshot_newest_config(f->snapshot));
        const struct worker_config config = {.index = i,
                                             .udp = f->udp[i],
                                             .engine = f->engines[i],
                                             .reader = snapshot_reader_new(f->snapshot),
                                             .resolver = f->resolver};
        assert_int_equal(worker_start(&config, &f->workers[i], &err), 0);
    }
}

/* Everything but the threads. */
static struct fixture *setup_still(uint32_t timeout_ms)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct dname domain = name_of("cluster.local."), hostmaster = name_of("h.cluster.local.");
    struct engine_config *config = xcalloc(1, sizeof(*config));
    *config = (struct engine_config){.ttl_s = 3600,
                                     .min_ttl_s = 60,
                                     .priority = 10,
                                     .max_udp_size = 1232,
                                     .has_nameservers = true,
                                     .ndots = 2};
    assert_true(engine_config_add_domain(config, &domain, &hostmaster));
    open_upstream(f);
    const struct foreign_zone root = {
        .name = {.len = 1}, .server_count = 1, .servers = {f->upstream_address}};
    config->zones_of_others = zone_table_new(&root, 1, NULL);
    f->writer = store_writer_new();
    f->snapshot = snapshot_new();
    snapshot_configure(f->snapshot, config);
    f->resolver_engine = engine_new(config);
    f->walk_engine = engine_new(config);
    assert_int_equal(recursion_init(&f->recursion, "127.0.0.0/8", NULL), 0);
    f->timeout_ms = timeout_ms;
    f->walk_ms = f->walk_wait_ms = PATIENCE_S * 1000;
    do {
        close_servers(f);
        f->address = loopback_addr(loopback_free_port());
    } while (open_servers(f) < 0);
    return f;
}

static struct fixture *setup(uint32_t timeout_ms)
{
    struct fixture *f = setup_still(timeout_ms);
    start_resolver(f);
    start_workers(f);
    return f;
}

static void stop(struct fixture *f)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        udp_server_stop(f->udp[i]);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        worker_join(f->workers[i]);
    }
    resolver_stop(f->resolver);
}

static struct query_sums counts(const struct fixture *f)
{
    struct query_sums sum = {0};
    for (unsigned i = 0; i < WORKERS; i++) {
        worker_sums_add(f->workers[i], &sum);
    }
    return sum;
}

/* After stop. */
static void teardown(struct fixture *f)
{
    close_servers(f);
    engine_free(f->resolver_engine);
    engine_free(f->walk_engine);
    for (unsigned i = 0; i < WORKERS; i++) {
        worker_free(f->workers[i]);
        engine_free(f->engines[i]);
    }
    snapshot_free(f->snapshot);
    store_writer_free(f->writer);
    close(f->upstream_udp);
    close(f->upstream_tcp);
    free(f);
}

static void put_host(struct fixture *f, const char *name_text, const char *host)
{
    struct dname name = name_of(name_text);
    struct record record;
    record_init(&record);
    free(record.host);
    record.host = strdup(host);
    if (!ip_parse(slice_str(host), &record.ip)) {
        record.ip.family_bytes = 0;
    }
    records_put(f->writer, &name, &record, 1);
}

static void publish_as(struct fixture *f, int64_t revision)
{
    struct store_garbage *garbage;
    const struct store *store = store_writer_commit(f->writer, revision, &garbage);
    snapshot_publish(f->snapshot, store, garbage);
}

static void publish(struct fixture *f)
{
    publish_as(f, 1);
}

static bool is_hinfo(const struct message *m)
{
    struct dname name;
    struct reader r = reader_of(m->wire, m->len);
    reader_seek(&r, 12);
    return dname_read(&r, &name) && reader_u16(&r) == HINFO;
}

/* The next query at the nameserver over UDP. Skips HINFO, which the resolver asks to find out
 * whether the nameserver leads back to it. */
static struct message receive_as_upstream(struct fixture *f, struct addr *ret_from)
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

static void answer_as_upstream(struct fixture *f, const char *want_name)
{
    struct addr from;
    struct message m = receive_as_upstream(f, &from);
    make_reply(&m, want_name);
    assert_int_equal(sendto(f->upstream_udp, m.wire, m.len, 0, &from.sa, from.len), m.len);
}

/* ---- Tests ---- */

static void test_before_the_first_sync(void **state)
{
    struct fixture *f = setup(PATIENCE_S * 1000);
    int fd = client(f, SOCK_DGRAM);
    struct message ours = question(1, "web.cluster.local."), theirs = question(2, "www.test.");
    (void)state;
    send_udp(fd, &ours);
    struct message m = receive_udp(fd);
    assert_int_equal(rcode_of(&m), SERVFAIL);
    send_udp(fd, &theirs);
    answer_as_upstream(f, "www.test.");
    m = receive_udp(fd);
    assert_int_equal(rcode_of(&m), NOERROR);
    assert_int_equal(id_of(&m), 2);
    close(fd);
    stop(f);
    teardown(f);
}

static void test_foreign_names_are_forwarded(void **state)
{
    struct fixture *f = setup(PATIENCE_S * 1000);
    struct message q = question(0x1234, "WWW.Test.");
    (void)state;
    publish(f);
    int udp = client(f, SOCK_DGRAM), tcp = client(f, SOCK_STREAM);
    send_udp(udp, &q);
    answer_as_upstream(f, "www.test.");
    struct message m = receive_udp(udp);
    assert_int_equal(id_of(&m), 0x1234);
    assert_int_equal(answers_in(&m), 1);

    send_tcp(tcp, &q);
    answer_as_upstream(f, "www.test.");
    m = receive_tcp(tcp);
    assert_int_equal(id_of(&m), 0x1234);
    assert_int_equal(answers_in(&m), 1);
    close(udp);
    close(tcp);
    stop(f);
    assert_int_equal(counts(f).deferred, 1);
    teardown(f);
}

/* A record that points outside the domain: the CNAME and the nameserver's answer. */
static void test_targets_are_looked_up(void **state)
{
    struct fixture *f = setup(PATIENCE_S * 1000);
    struct message q = question(7, "ext.cluster.local.");
    (void)state;
    put_host(f, "ext.cluster.local.", "www.test.");
    publish(f);
    int fds[2] = {client(f, SOCK_DGRAM), client(f, SOCK_STREAM)};
    for (int tcp = 0; tcp < 2; tcp++) {
        tcp ? send_tcp(fds[tcp], &q) : send_udp(fds[tcp], &q);
        answer_as_upstream(f, "www.test.");
        struct message m = tcp ? receive_tcp(fds[tcp]) : receive_udp(fds[tcp]);
        assert_int_equal(id_of(&m), 7);
        assert_int_equal(rcode_of(&m), NOERROR);
        assert_int_equal(answers_in(&m), 2);
        close(fds[tcp]);
    }
    stop(f);
    teardown(f);
}

static void test_a_dead_nameserver_is_servfail(void **state)
{
    struct fixture *f = setup(PATIENCE_S * 1000);
    struct message q = question(9, "www.test.");
    (void)state;
    publish(f);
    int udp = client(f, SOCK_DGRAM), tcp = client(f, SOCK_STREAM);
    close(f->upstream_udp);
    close(f->upstream_tcp);
    f->upstream_udp = f->upstream_tcp = -1;
    send_udp(udp, &q);
    struct message m = receive_udp(udp);
    assert_int_equal(id_of(&m), 9);
    assert_int_equal(rcode_of(&m), SERVFAIL);
    send_tcp(tcp, &q);
    m = receive_tcp(tcp);
    assert_int_equal(id_of(&m), 9);
    assert_int_equal(rcode_of(&m), SERVFAIL);
    close(udp);
    close(tcp);
    stop(f);
    teardown(f);
}

/* Records below many.cluster.local, one of them an IPv4 address: a short answer to
 * *.many.cluster.local after a long walk. */
static void put_many(struct fixture *f, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char name[64], host[32];
        (void)snprintf(name, sizeof(name), "r%u.many.cluster.local.", i);
        (void)snprintf(host, sizeof(host), "fd00::%x", i + 1);
        put_host(f, name, host);
    }
    put_host(f, "last.many.cluster.local.", "10.1.0.1");
    publish(f);
}

/* Walks of some milliseconds each. */
enum { LONG = 20000, SHORTER = 4000 };

/* The walker answers them. */
static void test_long_walks_are_deferred(void **state)
{
    struct fixture *f = setup(PATIENCE_S * 1000);
    int udp = client(f, SOCK_DGRAM);
    struct message q = question(3, "*.many.cluster.local.");
    (void)state;
    put_many(f, ENGINE_WALK_MAX + 1);
    send_udp(udp, &q);
    struct message m = receive_udp(udp);
    assert_int_equal(rcode_of(&m), NOERROR);
    assert_int_equal(answers_in(&m), 1);
    close(udp);
    stop(f);
    assert_int_equal(counts(f).deferred, 1);
    assert_int_equal(counts(f).refused, 0);
    teardown(f);
}

/* In one batch, an answer that takes hundreds of visits delays none that came after it. */
static void test_expensive_answers_come_last(void **state)
{
    enum { MANY = 200, CHEAP = 20 };
    struct fixture *f = setup_still(PATIENCE_S * 1000);
    struct message expensive = question(1, "*.many.cluster.local.");
    struct message cheap = question(2, "web.cluster.local.");
    (void)state;
    put_many(f, MANY);
    put_host(f, "web.cluster.local.", "10.0.0.1");
    publish(f);
    int udp = client(f, SOCK_DGRAM);
    send_udp(udp, &expensive);
    send_udp(udp, &expensive);
    for (unsigned i = 0; i < CHEAP; i++) {
        send_udp(udp, &cheap);
    }
    start_resolver(f);
    start_workers(f);
    for (unsigned i = 0; i < CHEAP + 2; i++) {
        struct message m = receive_udp(udp);
        assert_int_equal(id_of(&m), i < CHEAP ? 2 : 1);
        assert_int_equal(answers_in(&m), 1);
    }
    close(udp);
    stop(f);
    teardown(f);
}

/* One turn of the resolver's loop makes few answers of hundreds of visits; the walker makes the
 * others, and all are the same. */
static void test_expensive_answers_of_a_turn(void **state)
{
    enum { MANY = 200, QUERIES = 5 * RESOLVER_EXPENSIVE_MAX };
    struct fixture *f = setup(PATIENCE_S * 1000);
    struct message q = question(3, "*.many.cluster.local.");
    uint8_t frames[QUERIES * 64];
    struct writer w = writer_of(frames, sizeof(frames));
    (void)state;
    put_many(f, MANY);
    int tcp = client(f, SOCK_STREAM);
    for (unsigned i = 0; i < QUERIES; i++) {
        writer_u16(&w, (uint16_t)q.len);
        writer_bytes(&w, q.wire, q.len);
    }
    assert_int_equal(send(tcp, frames, w.pos, MSG_NOSIGNAL), w.pos);
    for (unsigned i = 0; i < QUERIES; i++) {
        struct message m = receive_tcp(tcp);
        assert_int_equal(rcode_of(&m), NOERROR);
        assert_int_equal(answers_in(&m), 1);
    }
    close(tcp);
    stop(f);
    struct query_sums sums = {0};
    query_sums_add(&sums, &resolver_counts(f->resolver)->tcp);
    assert_int_equal(sums.queries, QUERIES);
    assert_in_range(sums.deferred, 1, QUERIES - 1); /* a turn reads what has arrived: mostly all */
    teardown(f);
}

/* A walk that finds names of other domains: the nameserver is asked, then it is walked again. */
static void test_walks_find_other_domains(void **state)
{
    struct fixture *f = setup(PATIENCE_S * 1000);
    struct message q = question(3, "*.many.cluster.local.");
    (void)state;
    put_many(f, ENGINE_WALK_MAX + 1);
    put_host(f, "ext.many.cluster.local.", "www.test.");
    publish(f);
    int fds[2] = {client(f, SOCK_DGRAM), client(f, SOCK_STREAM)};
    for (int tcp = 0; tcp < 2; tcp++) {
        tcp ? send_tcp(fds[tcp], &q) : send_udp(fds[tcp], &q);
        answer_as_upstream(f, "www.test.");
        struct message m = tcp ? receive_tcp(fds[tcp]) : receive_udp(fds[tcp]);
        assert_int_equal(id_of(&m), 3);
        assert_int_equal(rcode_of(&m), NOERROR);
        assert_int_equal(answers_in(&m), 3); /* its own address, the CNAME and what it points to */
        close(fds[tcp]);
    }
    stop(f);
    teardown(f);
}

/* The records point elsewhere when the nameserver replies: its client should ask again, however
 * many of them there are. */
static void test_outdated_lookups_are_refused(void **state)
{
    static const unsigned counts_of[] = {1, ENGINE_BRIEF_MAX + 1, ENGINE_WALK_MAX + 1};
    struct message q = question(3, "*.many.cluster.local.");
    struct addr from;
    (void)state;
    for (unsigned i = 0; i < 3 * 2; i++) {
        bool is_changed = i % 2;
        struct fixture *f = setup(PATIENCE_S * 1000);
        put_many(f, counts_of[i / 2]);
        put_host(f, "ext.many.cluster.local.", "www.test.");
        publish(f);
        int udp = client(f, SOCK_DGRAM);
        send_udp(udp, &q);
        struct message asked = receive_as_upstream(f, &from);
        put_host(f, "ext.many.cluster.local.", is_changed ? "other.test." : "www.test.");
        put_host(f, "web.cluster.local.", "10.0.0.1");
        publish_as(f, 2);
        make_reply(&asked, "www.test.");
        assert_int_equal(sendto(f->upstream_udp, asked.wire, asked.len, 0, &from.sa, from.len),
                         asked.len);
        struct message m = receive_udp(udp);
        assert_int_equal(rcode_of(&m), is_changed ? SERVFAIL : NOERROR);
        close(udp);
        stop(f);
        teardown(f);
    }
}

/* A walk that waits too long, or takes too long, is SERVFAIL. */
static void test_late_walks_are_refused(void **state)
{
    struct message q = question(3, "*.many.cluster.local.");
    (void)state;
    for (int waits = 0; waits < 2; waits++) {
        struct fixture *f = setup_still(PATIENCE_S * 1000);
        close_servers(f);
        f->walk_wait_ms = waits ? 0 : f->walk_wait_ms;
        f->walk_ms = waits ? f->walk_ms : 0;
        assert_int_equal(open_servers(f), 0);
        start_resolver(f);
        start_workers(f);
        put_many(f, LONG);
        int udp = client(f, SOCK_DGRAM);
        send_udp(udp, &q);
        struct message m = receive_udp(udp);
        assert_int_equal(id_of(&m), 3);
        assert_int_equal(rcode_of(&m), SERVFAIL);
        close(udp);
        stop(f);
        teardown(f);
    }
}

/* All over different names, so that none is kept. */
static void put_walks(struct writer *w, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "x%u.*.many.cluster.local.", i);
        struct message m = question(1, name);
        writer_u16(w, (uint16_t)m.len);
        writer_bytes(w, m.wire, m.len);
    }
    assert_false(w->failed);
}

/* Walks first, then a foreign name, all in one segment. Its nameserver is dead, so its reply takes
 * a few loop iterations, but no time of others. */
static void test_foreign_names_do_not_wait_for_walks(void **state)
{
    enum { WALKS = 10 };
    struct fixture *f = setup(PATIENCE_S * 1000);
    struct message foreign = question(2, "www.test.");
    uint8_t frames[(WALKS + 1) * 64];
    struct writer w = writer_of(frames, sizeof(frames));
    (void)state;
    put_many(f, LONG);
    int tcp = client(f, SOCK_STREAM);
    close(f->upstream_udp);
    f->upstream_udp = -1;
    put_walks(&w, WALKS);
    writer_u16(&w, (uint16_t)foreign.len);
    writer_bytes(&w, foreign.wire, foreign.len);
    assert_false(w.failed);
    assert_int_equal(send(tcp, frames, w.pos, MSG_NOSIGNAL), w.pos);
    unsigned walks_before = 0, walks_after = 0;
    bool is_foreign_there = false;
    for (unsigned i = 0; i <= WALKS; i++) {
        struct message m = receive_tcp(tcp);
        if (id_of(&m) == 2) {
            is_foreign_there = true;
        } else {
            assert_int_equal(rcode_of(&m), NOERROR);
            is_foreign_there ? walks_after++ : walks_before++;
        }
    }
    assert_true(is_foreign_there);
    assert_int_equal(walks_before + walks_after, WALKS);
    assert_in_range(walks_before, 0, WALKS / 2);
    close(tcp);
    stop(f);
    teardown(f);
}

/* A client has its part of what may wait: the rest is refused at once, every query gets an answer,
 * and another client still has its own. */
static void test_too_many_walks_are_refused(void **state)
{
    enum { MANY = RESOLVER_CLIENT_WALKS_MAX + 500 };
    struct fixture *f = setup(PATIENCE_S * 1000);
    struct message walk = question(7, "*.many.cluster.local.");
    struct addr other = {
        .v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1)},
        .len = sizeof(other.v4)};
    unsigned refused = 0;
    (void)state;
    put_many(f, SHORTER);
    int tcp = client(f, SOCK_STREAM), udp = patient_socket(SOCK_DGRAM);
    assert_int_equal(bind(udp, &other.sa, other.len), 0);
    assert_int_equal(connect(udp, &f->address.sa, f->address.len), 0);
    uint8_t frames[MANY * 64];
    struct writer w = writer_of(frames, sizeof(frames));
    put_walks(&w, MANY);
    assert_int_equal(send(tcp, frames, w.pos, MSG_NOSIGNAL), w.pos);
    struct message m = receive_tcp(tcp); /* some are refused, so its part is used up */
    refused += rcode_of(&m) == SERVFAIL;
    send_udp(udp, &walk);
    for (unsigned i = 1; i < MANY; i++) {
        m = receive_tcp(tcp);
        refused += rcode_of(&m) == SERVFAIL;
    }
    assert_in_range(refused, 1, MANY - 1);
    m = receive_udp(udp);
    assert_int_equal(rcode_of(&m), NOERROR);
    assert_int_equal(answers_in(&m), 1);
    close(tcp);
    close(udp);
    stop(f);
    teardown(f);
}

/* Pipelined over TCP: immediate answers overtake deferred ones. */
static void test_tcp_answers_overtake(void **state)
{
    struct fixture *f = setup(PATIENCE_S * 1000);
    struct message slow = question(1, "ext.cluster.local."),
                   quick = question(2, "web.cluster.local.");
    (void)state;
    put_host(f, "ext.cluster.local.", "www.test.");
    put_host(f, "web.cluster.local.", "10.0.0.1");
    publish(f);
    int tcp = client(f, SOCK_STREAM);
    send_tcp(tcp, &slow);
    send_tcp(tcp, &quick);
    struct message m = receive_tcp(tcp);
    assert_int_equal(id_of(&m), 2);
    answer_as_upstream(f, "www.test.");
    m = receive_tcp(tcp);
    assert_int_equal(id_of(&m), 1);
    close(tcp);
    stop(f);
    teardown(f);
}

/* The resolver is not running: its ring fills up, then the worker answers SERVFAIL itself. */
static void test_a_full_ring_is_servfail(void **state)
{
    struct fixture *f = setup_still(PATIENCE_S * 1000);
    int udp = client(f, SOCK_DGRAM);
    struct message q = question(11, "www.test.");
    (void)state;
    publish(f);
    start_workers(f);
    for (unsigned sent = 1; sent <= DEFERRED_RING_SIZE + 1; sent++) {
        send_udp(udp, &q);
        while (counts(f).queries < sent) { /* some machines have small socket buffers */
            (void)sched_yield();
        }
    }
    struct message m = receive_udp(udp);
    assert_int_equal(id_of(&m), 11);
    assert_int_equal(rcode_of(&m), SERVFAIL);
    stop(f);
    assert_int_equal(counts(f).deferred, DEFERRED_RING_SIZE);
    assert_int_equal(counts(f).refused, 1);
    close(udp);
    teardown(f);
}

static int client_from(const struct fixture *f, const char *ip_text, int type)
{
    struct ip ip;
    assert_true(ip_parse(slice_str(ip_text), &ip));
    struct addr from = addr_of_ip(&ip, 0);
    int fd = patient_socket(type);
    assert_int_equal(bind(fd, &from.sa, from.len), 0);
    assert_int_equal(connect(fd, &f->address.sa, f->address.len), 0);
    return fd;
}

static void wait_in_hand(const struct fixture *f, size_t count)
{
    while (counter_get(&resolver_counts(f->resolver)->in_hand) != count) {
        (void)sched_yield();
    }
}

/* Half of the places are one client's at most: its further queries are refused, another's are not.
 * The nameserver is silent, and asked once: the questions are the same. */
static void test_one_client_leaves_places(void **state)
{
    enum { SHARE = RESOLVER_IN_HAND_MAX / 2 };
    struct fixture *f = setup(PATIENCE_S * 1000);
    struct message q = question(1, "www.test."), other_q = question(2, "www.test.");
    struct addr from;
    (void)state;
    publish(f);
    int hog = client_from(f, "127.0.0.2", SOCK_DGRAM);
    for (size_t i = 1; i <= SHARE; i++) {
        send_udp(hog, &q);
        wait_in_hand(f, i);
    }
    struct message asked = receive_as_upstream(f, &from);
    send_udp(hog, &q);
    struct message m = receive_udp(hog);
    assert_int_equal(rcode_of(&m), SERVFAIL);
    int udp = client_from(f, "127.0.0.3", SOCK_DGRAM), tcp = client(f, SOCK_STREAM);
    send_udp(udp, &other_q);
    wait_in_hand(f, SHARE + 1);
    send_tcp(tcp, &other_q);
    wait_in_hand(f, SHARE + 2);
    make_reply(&asked, "www.test.");
    assert_int_equal(sendto(f->upstream_udp, asked.wire, asked.len, 0, &from.sa, from.len),
                     asked.len);
    m = receive_udp(udp);
    assert_int_equal(rcode_of(&m), NOERROR);
    m = receive_tcp(tcp);
    assert_int_equal(rcode_of(&m), NOERROR);
    wait_in_hand(f, 0);
    send_udp(hog, &q); /* its share is free again */
    answer_as_upstream(f, "www.test.");
    close(hog);
    close(udp);
    close(tcp);
    stop(f);
    teardown(f);
}

/* The same of the places for external names. */
static void test_one_client_leaves_lookups(void **state)
{
    enum { SHARE = RESOLVER_LOOKUPS_MAX / 2 };
    struct fixture *f = setup(PATIENCE_S * 1000);
    struct message q = question(1, "ext.cluster.local."),
                   other_q = question(2, "ext.cluster.local.");
    struct addr from;
    (void)state;
    put_host(f, "ext.cluster.local.", "www.test.");
    publish(f);
    int hog = client_from(f, "127.0.0.2", SOCK_DGRAM);
    for (size_t i = 1; i <= SHARE; i++) {
        send_udp(hog, &q);
        wait_in_hand(f, i);
    }
    struct message asked = receive_as_upstream(f, &from);
    send_udp(hog, &q);
    struct message m = receive_udp(hog);
    assert_int_equal(rcode_of(&m), SERVFAIL);
    int udp = client_from(f, "127.0.0.3", SOCK_DGRAM);
    send_udp(udp, &other_q);
    wait_in_hand(f, SHARE + 1);
    make_reply(&asked, "www.test.");
    assert_int_equal(sendto(f->upstream_udp, asked.wire, asked.len, 0, &from.sa, from.len),
                     asked.len);
    m = receive_udp(udp);
    assert_int_equal(rcode_of(&m), NOERROR);
    wait_in_hand(f, 0);
    send_udp(hog, &q); /* its share is free again */
    answer_as_upstream(f, "www.test.");
    wait_in_hand(f, 0);
    close(hog);
    close(udp);
    stop(f);
    teardown(f);
}

/* A client's TCP connections may have as many queries deferred as their ring has places. */
static void test_one_tcp_client_leaves_places(void **state)
{
    enum { CLIENTS = 40, EACH = 128, SENT = CLIENTS * EACH };
    struct fixture *f = setup(PATIENCE_S * 1000);
    struct message q = question(1, "www.test.");
    uint8_t frames[EACH * 64];
    struct writer w = writer_of(frames, sizeof(frames));
    int tcp[CLIENTS];
    (void)state;
    publish(f);
    for (unsigned i = 0; i < EACH; i++) {
        writer_u16(&w, (uint16_t)q.len);
        writer_bytes(&w, q.wire, q.len);
    }
    assert_false(w.failed);
    for (unsigned i = 0; i < CLIENTS; i++) {
        tcp[i] = client_from(f, "127.0.0.2", SOCK_STREAM);
        assert_int_equal(send(tcp[i], frames, w.pos, MSG_NOSIGNAL), w.pos);
    }
    const struct query_counts *sums = &resolver_counts(f->resolver)->tcp;
    while (counter_get(&sums->deferred) + counter_get(&sums->refused) < SENT) {
        (void)sched_yield();
    }
    size_t taken = counter_get(&sums->deferred);
    assert_in_range(taken, DEFERRED_RING_SIZE / 2, DEFERRED_RING_SIZE);
    int other = client(f, SOCK_STREAM);
    send_tcp(other, &q);
    wait_in_hand(f, taken + 1);
    answer_as_upstream(f, "www.test.");
    struct message m = receive_tcp(other);
    assert_int_equal(rcode_of(&m), NOERROR);
    for (unsigned i = 0; i < CLIENTS; i++) {
        close(tcp[i]);
    }
    close(other);
    stop(f);
    teardown(f);
}

/* Longer than any answer needs it: forwarded like a short one. */
static void test_a_long_query_is_forwarded(void **state)
{
    enum { RECORD = 11, ADDRESSES = 4000 };
    struct fixture *f = setup(PATIENCE_S * 1000);
    struct message q = question(0x4321, "WWW.Test.");
    size_t data_len = ADDRESSES - q.len - RECORD;
    const uint8_t record[RECORD] = {
        0, 0, 16, 0, IN, [9] = (uint8_t)(data_len >> 8), [10] = (uint8_t)data_len};
    (void)state;
    publish(f);
    memcpy(q.wire + q.len, record, RECORD);
    memset(q.wire + q.len + RECORD, 0, data_len);
    q.wire[11] = 1; /* additional records */
    size_t name_end = q.len - 4;
    q.len = ADDRESSES;
    int tcp = client(f, SOCK_STREAM);
    send_tcp(tcp, &q);
    answer_as_upstream(f, "www.test.");
    struct message m = receive_tcp(tcp);
    assert_int_equal(id_of(&m), 0x4321);
    assert_int_equal(rcode_of(&m), NOERROR);
    assert_int_equal(answers_in(&m), 1);
    assert_memory_equal(m.wire + 12, q.wire + 12, name_end - 12); /* as typed */
    close(tcp);
    stop(f);
    teardown(f);
}

/* On stop, queries waiting for a nameserver get SERVFAIL, over both transports. */
static void test_stop_answers_what_waits(void **state)
{
    struct fixture *f = setup(PATIENCE_S * 1000);
    struct message q = question(5, "ext.cluster.local."), other = question(5, "two.cluster.local.");
    struct addr from;
    uint8_t byte;
    (void)state;
    put_host(f, "ext.cluster.local.", "www.test.");
    put_host(f, "two.cluster.local.", "two.test.");
    publish(f);
    int udp = client(f, SOCK_DGRAM), tcp = client(f, SOCK_STREAM);
    send_udp(udp, &q);
    (void)receive_as_upstream(f, &from); /* reached the nameserver, which does not reply */
    send_tcp(tcp, &other);
    (void)receive_as_upstream(f, &from);
    stop(f);
    struct message m = receive_udp(udp);
    assert_int_equal(rcode_of(&m), SERVFAIL);
    m = receive_tcp(tcp);
    assert_int_equal(rcode_of(&m), SERVFAIL);
    assert_int_equal(recv(tcp, &byte, 1, 0), 0);
    close(udp);
    close(tcp);
    teardown(f);
}

/* The same of walks that wait for a nameserver, and of those that wait for the walker. */
static void test_stop_answers_walks(void **state)
{
    enum { WALKS = 8 };
    struct fixture *f = setup(PATIENCE_S * 1000);
    struct message q = question(5, "*.many.cluster.local.");
    uint8_t frames[WALKS * 64], byte;
    struct writer w = writer_of(frames, sizeof(frames));
    struct addr from;
    (void)state;
    put_many(f, LONG);
    put_host(f, "ext.many.cluster.local.", "www.test.");
    publish(f);
    int udp = client(f, SOCK_DGRAM), tcp = client(f, SOCK_STREAM);
    send_udp(udp, &q);
    (void)receive_as_upstream(f, &from); /* which does not reply */
    put_walks(&w, WALKS);
    assert_int_equal(send(tcp, frames, w.pos, MSG_NOSIGNAL), w.pos);
    while (counter_get(&resolver_counts(f->resolver)->tcp.deferred) < WALKS) {
        (void)sched_yield();
    }
    stop(f);
    struct message m = receive_udp(udp);
    assert_int_equal(rcode_of(&m), SERVFAIL);
    for (unsigned i = 0; i < WALKS; i++) { /* walked or refused */
        m = receive_tcp(tcp);
        assert_int_equal(id_of(&m), 1);
    }
    assert_int_equal(recv(tcp, &byte, 1, 0), 0);
    close(udp);
    close(tcp);
    teardown(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_the_first_sync),
        cmocka_unit_test(test_foreign_names_are_forwarded),
        cmocka_unit_test(test_targets_are_looked_up),
        cmocka_unit_test(test_a_dead_nameserver_is_servfail),
        cmocka_unit_test(test_expensive_answers_come_last),
        cmocka_unit_test(test_long_walks_are_deferred),
        cmocka_unit_test(test_expensive_answers_of_a_turn),
        cmocka_unit_test(test_walks_find_other_domains),
        cmocka_unit_test(test_outdated_lookups_are_refused),
        cmocka_unit_test(test_late_walks_are_refused),
        cmocka_unit_test(test_foreign_names_do_not_wait_for_walks),
        cmocka_unit_test(test_too_many_walks_are_refused),
        cmocka_unit_test(test_tcp_answers_overtake),
        cmocka_unit_test(test_a_full_ring_is_servfail),
        cmocka_unit_test(test_one_client_leaves_places),
        cmocka_unit_test(test_one_client_leaves_lookups),
        cmocka_unit_test(test_one_tcp_client_leaves_places),
        cmocka_unit_test(test_a_long_query_is_forwarded),
        cmocka_unit_test(test_stop_answers_what_waits),
        cmocka_unit_test(test_stop_answers_walks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
