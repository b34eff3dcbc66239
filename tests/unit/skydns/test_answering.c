/* Sockets, workers and resolver as assembled by main(): queries over UDP and TCP at each address,
 * with scripted nameservers, with sockets as passed by systemd; failures and shutdown. Real threads
 * and sockets on loopback. */
#include "tests/support/from_text.h"
#include "tests/unit/skydns/answering_bed.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/cursor.h"
#include "skydns/external/zone_table.h"
#include "skydns/listen/listen_socket.h"
#include "skydns/listen/passed_sockets.h"
#include "tests/support/log_capture.h"

UNIT_TESTS_EACH(answering_setup, answering_teardown)
UNIT_TESTS_ONCE(start_first_thread, NULL)
UNIT_TESTS_HAVE_THREADS

/* Every kind of question over UDP, each from its own socket, and all of them over one
 * connection. */
static void expect_answers_at(const struct addr *address)
{
    struct asked_question question;
    struct message reply;
    int tcp = answering_client_at(address, SOCK_STREAM);
    for (unsigned i = 0; i < SERVICES * QUESTION_KINDS; i++) {
        question_make(&question, i % QUESTION_KINDS, i % SERVICES, (uint16_t)(1000 + i));
        int udp = answering_client_at(address, SOCK_DGRAM);
        send_udp(udp, question.wire, question.len);
        reply = answering_receive_udp(udp);
        expect_answer(&question, &reply);
        close(udp);
        answering_send_tcp(tcp, question.wire, question.len);
        reply = answering_receive_tcp(tcp);
        expect_answer(&question, &reply);
    }
    close(tcp);
}

UNIT_TEST_ON(test_answers_at_each_address, struct fixture *f)
{
    answering_fill(f);
    answering_open_at(f, 2);
    expect_threads(f->threads_before);
    skydns_answering_start(f);
    /* The resolver, its walker and signers, and the workers of each address. */
    expect_threads(f->threads_before + 2 + f->options.signers + 2 * WORKERS);
    for (size_t i = 0; i < 2; i++) {
        expect_answers_at(&f->options.addresses[i]);
    }
    skydns_answering_stop(f);
}

/* SERVFAIL until there is content; then answers at once. */
UNIT_TEST_ON(test_before_the_first_content, struct fixture *f)
{
    struct asked_question question;
    struct message reply;
    answering_open_at(f, 1);
    skydns_answering_start(f);
    int udp = answering_client_at(&f->options.addresses[0], SOCK_DGRAM);
    question_make(&question, QUESTION_ADDRESS, 0, 7);
    send_udp(udp, question.wire, question.len);
    reply = answering_receive_udp(udp);
    assert_int_equal(reply.wire[3] & DNS_MASK_RCODE, DNS_RCODE_SERVFAIL);
    answering_fill(f);
    send_udp(udp, question.wire, question.len);
    reply = answering_receive_udp(udp);
    expect_answer(&question, &reply);
    close(udp);
    skydns_answering_stop(f);
}

/* ---- Nameservers ---- */

static struct message external_question(uint16_t id, const char *name_text)
{
    struct message m;
    struct dname name = dname_from(name_text);
    struct writer w = writer_of(m.wire, sizeof(m.wire));
    writer_u16(&w, id);
    writer_u16(&w, DNS_FLAG_RD);
    writer_u16(&w, 1);
    writer_u16(&w, 0);
    writer_u32(&w, 0);
    writer_bytes(&w, name.wire, name.len);
    writer_u16(&w, DNS_TYPE_A);
    writer_u16(&w, DNS_CLASS_IN);
    m.len = w.pos;
    return m;
}

struct fake_nameserver {
    int fd;
    struct addr address;
};

static struct fake_nameserver open_nameserver(void)
{
    const struct timeval timeout = {.tv_sec = TIMEOUT_S};
    struct fake_nameserver ns = {.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    int r = -1;
    assert_true(ns.fd >= 0);
    assert_int_equal(setsockopt(ns.fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
    for (int i = 0; i < ATTEMPTS && r < 0; i++) {
        ns.address = loopback_addr(loopback_free_port());
        r = bind(ns.fd, &ns.address.sa, ns.address.len);
    }
    assert_int_equal(r, 0);
    return ns;
}

/* Replies NXDOMAIN to the query for this name; others (the resolver's own checks) get nothing. */
static void say_nxdomain(const struct fake_nameserver *ns, const char *name_text)
{
    struct dname name;
    struct dname wanted = dname_from(name_text);
    for (;;) {
        struct message m;
        struct addr from = {.len = sizeof(from.v6)};
        ssize_t n = recvfrom(ns->fd, m.wire, sizeof(m.wire), 0, &from.sa, &from.len);
        assert_in_range(n, DNS_HEADER_SIZE, sizeof(m.wire));
        struct reader r = reader_of(m.wire, (size_t)n);
        reader_seek(&r, DNS_HEADER_SIZE);
        assert_true(dname_read(&r, &name));
        if (dname_equal(&name, &wanted)) {
            size_t len = r.pos + 4; /* type and class; drops what follows (OPT) */
            m.wire[2] |= DNS_FLAG_QR >> 8;
            m.wire[3] = DNS_RCODE_NXDOMAIN;
            m.wire[11] = 0;
            assert_int_equal(sendto(ns->fd, m.wire, len, 0, &from.sa, from.len), len);
            return;
        }
    }
}

static void publish_nameserver(struct fixture *f, const struct addr *address)
{
    const struct forward_zone root = {
        .name = {.len = 1}, .server_count = 1, .servers = {{.address = *address}}};
    struct engine_config *config = options_engine_config(&f->options);
    config->zones_of_others = zone_table_new(&root, 1, NULL);
    config->allows_all = true;
    publisher_configure(f->publisher, config);
}

/* Foreign names go to the current nameserver. */
UNIT_TEST_ON(test_nameservers, struct fixture *f)
{
    struct fake_nameserver servers[2] = {open_nameserver(), open_nameserver()};
    static const char *const names[] = {"first.example.com", "second.example.com"};
    f->options.random_case = false;
    answering_fill(f);
    answering_open_at(f, 1);
    skydns_answering_start(f);
    int udp = answering_client_at(&f->options.addresses[0], SOCK_DGRAM);
    for (uint16_t i = 0; i < 2; i++) {
        struct message question = external_question((uint16_t)(100 + i), names[i]), reply;
        publish_nameserver(f, &servers[i].address);
        send_udp(udp, question.wire, question.len);
        say_nxdomain(&servers[i], names[i]);
        reply = answering_receive_udp(udp);
        assert_int_equal(question_id(reply.wire), 100 + i);
        assert_int_equal(reply.wire[3] & DNS_MASK_RCODE, DNS_RCODE_NXDOMAIN);
        close(servers[i].fd);
    }
    close(udp);
    skydns_answering_stop(f);
}

/* ---- Opening ---- */

/* The second of three addresses is in use: the error names it, and the first one is released. */
UNIT_TEST_ON(test_address_in_use, struct fixture *f)
{
    struct answering *none = NULL;
    struct listen_socket listening;
    struct addr used;
    struct err err;
    char text[ADDR_TEXT_MAX];
    int fd = loopback_listen(&used);
    choose_addresses(f, 3);
    f->options.addresses[1] = used;
    assert_int_equal(answering_open(&f->options, f->publisher, NULL, NULL, NULL, &none, &err),
                     -EADDRINUSE);
    assert_null(none);
    assert_non_null(strstr(err.msg, addr_format(&used, text)));
    assert_int_equal(listen_tcp(&f->options.addresses[0], false, &listening, &err), 0);
    close(listening.fd);
    close(fd);
}

UNIT_TEST_ON(test_workers_are_limited, struct fixture *f)
{
    unsigned count;
    f->options.workers = OPTIONS_WORKERS_MAX;
    answering_open_at(f, 3);
    (void)answering_workers(f->answering, &count);
    assert_int_equal(count, 3 * (OPTIONS_WORKERS_MAX / 3));
}

/* main() stops what it could not start, too. */
UNIT_TEST_ON(test_never_started, struct fixture *f)
{
    answering_open_at(f, 1);
    assert_non_null(answering_resolver(f->answering));
    skydns_answering_stop(f);
}

UNIT_TEST_ON(test_ready_lines, struct fixture *f)
{
    struct log_capture capture;
    answering_open_at(f, 2);
    log_capture_begin(&capture);
    answering_log_ready(f->answering, &f->options.domains[0], "", 0);
    const char *text = log_capture_end(&capture);
    for (size_t i = 0; i < 2; i++) {
        char address[ADDR_TEXT_MAX], line[128];
        (void)addr_format(&f->options.addresses[i], address);
        (void)snprintf(line, sizeof(line), " for tcp://%s\n", address); /* fits */
        assert_int_equal(log_occurrences(text, line), 1);
        (void)snprintf(line, sizeof(line), " for udp://%s\n", address); /* fits */
        assert_int_equal(log_occurrences(text, line), 1);
    }
    assert_int_equal(log_occurrences(text, "skydns: ready for queries on cluster.local. for "), 4);
}

/* ---- Streams ---- */

static struct stream_address stream_at(enum engine_transport transport)
{
    return (struct stream_address){transport, loopback_addr(loopback_free_port())};
}

/* Opens UDP and TCP, and HTTP and gRPC in the clear, which need no certificate. */
static void open_with_streams(struct fixture *f, size_t address_count)
{
    struct err err = {0};
    int r = -EADDRINUSE;
    for (int i = 0; i < ATTEMPTS && r == -EADDRINUSE; i++) {
        choose_addresses(f, address_count);
        f->options.streams[0] = stream_at(ENGINE_HTTP);
        f->options.streams[1] = stream_at(ENGINE_GRPC);
        f->options.stream_count = 2;
        r = answering_open(&f->options, f->publisher, NULL, NULL, NULL, &f->answering, &err);
    }
    assert_that(r >= 0, "%s", err.msg);
}

UNIT_TEST_ON(test_addresses_of_streams, struct fixture *f)
{
    struct log_capture capture;
    struct buf addresses;
    char plain[ADDR_TEXT_MAX], http[ADDR_TEXT_MAX], grpc[ADDR_TEXT_MAX], want[512];
    open_with_streams(f, 1);
    addr_format(&f->options.addresses[0], plain);
    addr_format(&f->options.streams[0].address, http);
    addr_format(&f->options.streams[1].address, grpc);
    buf_init(&addresses, sizeof(want));
    answering_addresses(f->answering, &addresses);
    (void)snprintf(want, sizeof(want), "udp://%s tcp://%s http://%s grpc://%s", plain, plain, http,
                   grpc); /* fits */
    assert_string_equal(buf_cstr(&addresses), want);
    buf_fini(&addresses);
    log_capture_begin(&capture);
    answering_log_ready(f->answering, &f->options.domains[0], "", 0);
    const char *text = log_capture_end(&capture);
    (void)snprintf(want, sizeof(want), "cluster.local. for http://%s\n", http); /* fits */
    assert_int_equal(log_occurrences(text, want), 1);
    (void)snprintf(want, sizeof(want), "cluster.local. for grpc://%s\n", grpc); /* fits */
    assert_int_equal(log_occurrences(text, want), 1);
    assert_int_equal(log_occurrences(text, "skydns: ready for queries on "), 4);
}

UNIT_TEST_ON(test_only_streams, struct fixture *f)
{
    unsigned workers;
    open_with_streams(f, 0);
    (void)answering_workers(f->answering, &workers);
    assert_int_equal(workers, 0);
    const struct metrics_streams streams = answering_streams(f->answering);
    assert_non_null(streams.counts);
    assert_true(streams.is_heard[ENGINE_HTTP] && streams.is_heard[ENGINE_GRPC]);
    assert_false(streams.is_heard[ENGINE_TLS] || streams.is_heard[ENGINE_HTTPS]);
    assert_false(streams.is_heard[ENGINE_UDP] || streams.is_heard[ENGINE_TCP]);
    skydns_answering_start(f);
    skydns_answering_stop(f);
}

UNIT_TEST_ON(test_no_streams, struct fixture *f)
{
    answering_open_at(f, 1);
    assert_null(answering_streams(f->answering).counts);
}

/* ---- systemd ---- */

enum { FIRST_PASSED_FD = 3 };

/* Moves the descriptor above those from 3 on. */
static int answering_high(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, 100);
    assert_true(moved >= 100);
    close(fd);
    return moved;
}

/* Duplicates them from 3 on and sets systemd's variables; the caller keeps its own. */
static void answering_pass(const int *fds, int count)
{
    char number[16];
    for (int i = 0; i < count; i++) {
        assert_int_equal(dup2(fds[i], FIRST_PASSED_FD + i), FIRST_PASSED_FD + i);
    }
    (void)snprintf(number, sizeof(number), "%d", (int)getpid()); /* fits */
    assert_int_equal(setenv("LISTEN_PID", number, 1), 0);
    (void)snprintf(number, sizeof(number), "%d", count); /* fits */
    assert_int_equal(setenv("LISTEN_FDS", number, 1), 0);
}

/* All workers share one UDP socket, which still works for systemd afterwards. */
UNIT_TEST_ON(test_sockets_of_systemd, struct fixture *f)
{
    struct addr tcp_address;
    struct err err = {0};
    char byte;
    struct fake_nameserver udp = open_nameserver(); /* a bound UDP socket */
    int fds[2] = {answering_high(udp.fd), answering_high(loopback_listen(&tcp_address))};
    f->options.systemd = true;
    f->options.workers = 3;
    answering_fill(f);
    answering_pass(fds, 2);
    assert_that(answering_open(&f->options, f->publisher, NULL, NULL, NULL, &f->answering, &err) >=
                    0,
                "%s", err.msg);
    skydns_answering_start(f);
    expect_threads(f->threads_before + 2 + f->options.signers + 3);
    for (uint16_t i = 0; i < 2 * SERVICES; i++) {
        struct asked_question question;
        struct message reply;
        int client = answering_client_at(i % 2 ? &tcp_address : &udp.address,
                                         i % 2 ? SOCK_STREAM : SOCK_DGRAM);
        question_make(&question, QUESTION_ADDRESS, i % SERVICES, i);
        (i % 2 ? answering_send_tcp : send_udp)(client, question.wire, question.len);
        reply = i % 2 ? answering_receive_tcp(client) : answering_receive_udp(client);
        expect_answer(&question, &reply);
        close(client);
    }
    skydns_answering_stop(f);
    int client = answering_client_at(&udp.address, SOCK_DGRAM);
    send_udp(client, "x", 1);
    assert_int_equal(recv(fds[0], &byte, 1, 0), 1);
    close(client);
    client = answering_client_at(&tcp_address, SOCK_STREAM);
    close(client);
    close(fds[0]);
    close(fds[1]);
}

/* ---- The end ---- */

UNIT_TEST_ON(test_what_has_arrived_is_answered, struct fixture *f)
{
    enum { QUESTIONS = 50 };
    struct asked_question questions[QUESTIONS];
    bool is_answered[QUESTIONS] = {false};
    answering_fill(f);
    answering_open_at(f, 1);
    skydns_answering_start(f);
    int udp = answering_client_at(&f->options.addresses[0], SOCK_DGRAM);
    for (unsigned i = 0; i < QUESTIONS; i++) {
        question_make(&questions[i], QUESTION_PORT, i % SERVICES, (uint16_t)i);
        send_udp(udp, questions[i].wire, questions[i].len);
    }
    skydns_answering_stop(f);
    for (unsigned i = 0; i < QUESTIONS; i++) {
        struct message reply = answering_receive_udp(udp);
        unsigned id = question_id(reply.wire);
        assert_in_range(id, 0, QUESTIONS - 1);
        assert_false(is_answered[id]);
        expect_answer(&questions[id], &reply);
        is_answered[id] = true;
    }
    close(udp);
}

/* Another process reads the sockets: what comes over UDP from then on, and new TCP connections, are
 * its. Those that are open go on until nothing comes on them. */
UNIT_TEST_ON(test_leaving, struct fixture *f)
{
    struct asked_question question;
    struct message reply;
    char byte;
    answering_fill(f);
    answering_open_at(f, 1);
    skydns_answering_start(f);
    const struct passed_sockets *offered = answering_offer(f->answering);
    const struct addr *address = &f->options.addresses[0];
    assert_true(passed_sockets_find(offered, passed_code(ENGINE_TCP), address, 0) >= 0);
    assert_int_equal(answering_connections(f->answering), 0);
    int tcp = answering_client_at(address, SOCK_STREAM);
    int late = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    for (uint16_t i = 0; i < 2; i++) {
        question_make(&question, QUESTION_ADDRESS, 0, i);
        answering_send_tcp(tcp, question.wire, question.len);
        reply = answering_receive_tcp(tcp);
        expect_answer(&question, &reply);
        while (answering_connections(f->answering) != 1) {
            (void)sched_yield(); /* it is counted a little later */
        }
        answering_leave(f->answering, TIMEOUT_S * 1000);
    }
    answering_leave(f->answering, 1);
    assert_int_equal(recv(tcp, &byte, 1, 0), 0);
    while (answering_connections(f->answering) > 0) {
        (void)sched_yield();
    }
    close(tcp);
    expect_threads(f->threads_before + 2 + f->options.signers); /* without workers */
    assert_int_equal(connect(late, &address->sa, address->len), -1);
    assert_int_equal(errno, ECONNREFUSED); /* there is no other process here */
    close(late);
    skydns_answering_stop(f);
}
