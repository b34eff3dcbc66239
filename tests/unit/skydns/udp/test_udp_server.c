/* The UDP socket of a worker: batches, replies from the address asked, the size limit of queries,
 * and stopping a blocked thread without losing what has arrived. Real sockets on loopback. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "common/base/addr.h"
#include "common/base/clock.h"
#include "skydns/udp/udp_server.h"
#include "tests/support/loopback.h"
#include "tests/support/unit_test.h"

CLEANUP_POINTER(udp_server_free, struct udp_server)

UNIT_TESTS_HAVE_THREADS

enum { REPLY_MAX = 1232, ATTEMPTS = 100 };

static struct addr udp_server_address_of(const char *ip, uint16_t port)
{
    struct addr a = {0};
    if (inet_pton(AF_INET, ip, &a.v4.sin_addr) == 1) {
        a.v4.sin_family = AF_INET;
        a.v4.sin_port = htons(port);
        a.len = sizeof(a.v4);
    } else {
        assert_int_equal(inet_pton(AF_INET6, ip, &a.v6.sin6_addr), 1);
        a.v6.sin6_family = AF_INET6;
        a.v6.sin6_port = htons(port);
        a.len = sizeof(a.v6);
    }
    return a;
}

/* A server on a free port below the ephemeral range. */
static struct udp_server *server_new(const char *ip, struct addr *ret_address)
{
    struct udp_server *server = NULL;
    struct err err = {0};
    int r = -EADDRINUSE;
    for (int i = 0; r == -EADDRINUSE && i < ATTEMPTS; i++) {
        *ret_address = udp_server_address_of(ip, (uint16_t)loopback_free_port());
        /* SO_REUSEPORT would let it share another test's port, so check that it is free. */
        int probe = socket(ret_address->sa.sa_family, SOCK_DGRAM, 0);
        r = bind(probe, &ret_address->sa, ret_address->len) < 0 ? -errno : 0;
        close(probe);
    }
    struct listen_socket socket;
    const struct udp_server_config config = {&socket, REPLY_MAX};
    assert_that(r >= 0 && listen_udp(ret_address, false, &socket, &err) >= 0 &&
                    udp_server_new(&config, &server, &err) >= 0,
                "no server: %s", err.msg);
    return server;
}

static int client_new(int family)
{
    struct timeval timeout = {.tv_sec = 20};
    int fd = socket(family, SOCK_DGRAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
    return fd;
}

static void udp_server_client_send(int fd, const struct addr *to, const void *bytes, size_t len)
{
    assert_int_equal(sendto(fd, bytes, len, 0, &to->sa, to->len), len);
}

/* Receives `want` packets in total and answers each with its own bytes and a `!`. */
static void udp_server_echo(struct udp_server *server, size_t want)
{
    for (size_t seen = 0; seen < want;) {
        struct udp_packet *packets;
        size_t n = udp_server_receive(server, &packets);
        assert_in_range(n, 1, UDP_BATCH);
        for (size_t i = 0; i < n; i++) {
            memcpy(packets[i].response.bytes, packets[i].query, packets[i].query_len);
            packets[i].response.bytes[packets[i].query_len] = '!';
            packets[i].response.len = packets[i].query_len + 1;
        }
        assert_int_equal(udp_server_send(server), 0);
        seen += n;
    }
}

UNIT_TEST(test_a_batch_is_answered)
{
    struct addr address;
    CLEANUP(udp_server_free_of) struct udp_server *server = server_new("127.0.0.1", &address);
    int fd = client_new(AF_INET);
    enum { PACKETS = UDP_BATCH + 10 };
    for (unsigned char i = 0; i < PACKETS; i++) {
        udp_server_client_send(fd, &address, &i, 1);
    }
    udp_server_echo(server, PACKETS);
    for (unsigned char i = 0; i < PACKETS; i++) {
        unsigned char reply[8];
        assert_int_equal(recv(fd, reply, sizeof(reply), 0), 2);
        assert_int_equal(reply[0], i);
        assert_int_equal(reply[1], '!');
    }
    close(fd);
}

/* The first batch has times, and one in UDP_TIMED_BATCHES after it; on wildcard sockets, too. */
UNIT_TEST(test_some_batches_have_times)
{
    static const char *const addresses[] = {"127.0.0.1", "0.0.0.0", "::"};
    if (getenv("EMULATOR")) {
        skip(); /* qemu-user takes SO_TIMESTAMPNS, and hands on no times */
    }
    for (size_t i = 0; i < 3; i++) {
        struct addr address;
        CLEANUP(udp_server_free_of) struct udp_server *server = server_new(addresses[i], &address);
        struct addr to = udp_server_address_of(i < 2 ? "127.0.0.1" : "::1", addr_port(&address));
        int fd = client_new(to.sa.sa_family);
        for (unsigned batch = 0; batch <= 2 * UDP_TIMED_BATCHES; batch++) {
            struct udp_packet *packets;
            int64_t before_ns = clock_wall_ns();
            udp_server_client_send(fd, &to, "x", 1);
            assert_int_equal(udp_server_receive(server, &packets), 1);
            if (batch % UDP_TIMED_BATCHES == 0) {
                assert_in_range(packets[0].received_ns, before_ns, clock_wall_ns());
            } else {
                assert_int_equal(packets[0].received_ns, 0);
            }
            assert_int_equal(addr_port(packets[0].local), addr_port(&address));
            assert_false(addr_is_wildcard(packets[0].local));
        }
        close(fd);
    }
}

UNIT_TEST(test_a_packet_can_stay_unanswered)
{
    struct addr address;
    CLEANUP(udp_server_free_of) struct udp_server *server = server_new("127.0.0.1", &address);
    struct udp_packet *packets;
    int fd = client_new(AF_INET);
    char reply[8];
    udp_server_client_send(fd, &address, "a", 1);
    udp_server_client_send(fd, &address, "b", 1);
    udp_server_client_send(fd, &address, "c", 1);
    assert_int_equal(udp_server_receive(server, &packets), 3);
    for (size_t i = 0; i < 3; i += 2) {
        packets[i].response.bytes[0] = packets[i].query[0];
        packets[i].response.len = 1;
    }
    assert_int_equal(udp_server_send(server), 0);
    assert_int_equal(recv(fd, reply, sizeof(reply), 0), 1);
    assert_int_equal(reply[0], 'a');
    assert_int_equal(recv(fd, reply, sizeof(reply), 0), 1);
    assert_int_equal(reply[0], 'c');
    close(fd);
}

/* The kernel rejects one of three, here for its length: the others are still sent. */
UNIT_TEST(test_a_reply_that_cannot_be_sent_holds_up_no_other)
{
    enum { LONGER_THAN_ANY_DATAGRAM = 65536 };
    struct addr address;
    CLEANUP(udp_server_free_of) struct udp_server *server = server_new("127.0.0.1", &address);
    struct udp_packet *packets;
    int fd = client_new(AF_INET);
    char reply[8];
    udp_server_client_send(fd, &address, "a", 1);
    udp_server_client_send(fd, &address, "b", 1);
    udp_server_client_send(fd, &address, "c", 1);
    assert_int_equal(udp_server_receive(server, &packets), 3);
    for (size_t i = 0; i < 3; i++) {
        packets[i].response.bytes[0] = packets[i].query[0];
        packets[i].response.len = 1;
    }
    packets[1].response.len = LONGER_THAN_ANY_DATAGRAM;
    assert_int_equal(udp_server_send(server), 1);
    assert_int_equal(recv(fd, reply, sizeof(reply), 0), 1);
    assert_int_equal(reply[0], 'a');
    assert_int_equal(recv(fd, reply, sizeof(reply), 0), 1);
    assert_int_equal(reply[0], 'c');
    close(fd);
}

/* A query above the limit gets no bytes; one of exactly the limit gets all. */
UNIT_TEST(test_query_limit)
{
    struct addr address;
    CLEANUP(udp_server_free_of) struct udp_server *server = server_new("127.0.0.1", &address);
    struct udp_packet *packets;
    static const uint8_t bytes[UDP_QUERY_MAX + 1];
    int fd = client_new(AF_INET);
    udp_server_client_send(fd, &address, bytes, UDP_QUERY_MAX);
    udp_server_client_send(fd, &address, bytes, UDP_QUERY_MAX + 1);
    udp_server_client_send(fd, &address, bytes, 0);
    assert_int_equal(udp_server_receive(server, &packets), 3);
    assert_int_equal(packets[0].query_len, UDP_QUERY_MAX);
    assert_int_equal(packets[1].query_len, 0);
    assert_int_equal(packets[2].query_len, 0);
    close(fd);
}

/* On a wildcard socket a reply, immediate or late, comes from the address asked. */
static void check_wildcard(const char *wildcard, const char *asked, const char *local)
{
    struct addr bound, to, from;
    CLEANUP(udp_server_free_of) struct udp_server *server = server_new(wildcard, &bound);
    struct udp_packet *packets;
    struct ip ip;
    char ip_text[INET6_ADDRSTRLEN], reply[8];
    to = udp_server_address_of(asked, addr_port(&bound));
    int fd = client_new(to.sa.sa_family);
    udp_server_client_send(fd, &to, "q", 1);
    assert_int_equal(udp_server_receive(server, &packets), 1);
    ip = addr_ip(packets[0].local);
    assert_string_equal(ip_format(&ip, ip_text), local);
    assert_int_equal(addr_port(packets[0].local), addr_port(&bound));
    packets[0].response.bytes[0] = 'r';
    packets[0].response.len = 1;
    struct addr client = *packets[0].client, here = *packets[0].local;
    assert_int_equal(udp_server_send(server), 0);
    assert_true(udp_server_send_one(server, &client, &here, (const uint8_t *)"l", 1));
    for (int i = 0; i < 2; i++) {
        from.len = sizeof(from.v6);
        assert_int_equal(recvfrom(fd, reply, sizeof(reply), 0, &from.sa, &from.len), 1);
        assert_int_equal(reply[0], "rl"[i]);
        assert_memory_equal(&from.sa, &to.sa, to.len);
    }
    close(fd);
}

static bool has_ipv6(void)
{
    struct addr a = udp_server_address_of("::1", 0);
    int fd = socket(AF_INET6, SOCK_DGRAM, 0);
    bool has = fd >= 0 && bind(fd, &a.sa, a.len) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return has;
}

UNIT_TEST(test_replies_come_from_the_address_asked)
{
    check_wildcard("0.0.0.0", "127.0.0.77", "127.0.0.77");
    check_wildcard("0.0.0.0", "127.0.0.1", "127.0.0.1");
    if (has_ipv6()) {
        check_wildcard("::", "::1", "::1");
        check_wildcard("::", "127.0.0.78", "127.0.0.78");
    }
}

struct receiver {
    struct udp_server *server;
    size_t packets;
};

static void *receive_until_stopped(void *data)
{
    struct receiver *r = data;
    struct udp_packet *packets;
    size_t n;
    while ((n = udp_server_receive(r->server, &packets))) {
        r->packets += n;
    }
    return NULL;
}

UNIT_TEST(test_stop_wakes_a_blocked_thread)
{
    struct addr address;
    struct receiver receiver = {.server = server_new("127.0.0.1", &address)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, receive_until_stopped, &receiver), 0);
    udp_server_stop(receiver.server);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(receiver.packets, 0);
    udp_server_free(receiver.server);
}

UNIT_TEST(test_stop_first_gives_what_has_arrived)
{
    struct addr address;
    struct receiver receiver = {.server = server_new("127.0.0.1", &address)};
    int fd = client_new(AF_INET);
    char reply[8];
    for (unsigned i = 0; i < UDP_BATCH + 3; i++) {
        udp_server_client_send(fd, &address, "", i % 2); /* empty packets count, too */
    }
    udp_server_stop(receiver.server);
    (void)receive_until_stopped(&receiver);
    assert_int_equal(receiver.packets, UDP_BATCH + 3);

    /* A late reply is still sent. */
    struct addr client = {.len = sizeof(client.v6)};
    assert_int_equal(getsockname(fd, &client.sa, &client.len), 0);
    client.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(udp_server_send_one(receiver.server, &client, &address, (const uint8_t *)"x", 1));
    assert_int_equal(recv(fd, reply, sizeof(reply), 0), 1);
    close(fd);
    udp_server_free(receiver.server);
}

struct flood {
    struct addr address;
    _Atomic size_t sent;
    _Atomic bool enough;
};

static void *send_without_end(void *data)
{
    struct flood *flood = data;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    while (!flood->enough) {
        (void)sendto(fd, "x", 1, 0, &flood->address.sa, flood->address.len); /* losses are fine */
        flood->sent++;
    }
    close(fd);
    return NULL;
}

static void wait_until_sent(const struct flood *flood, size_t more)
{
    size_t target = flood->sent + more;
    while (flood->sent < target) {
        sched_yield();
    }
}

/* Another batch arrives before each one is done: it still ends. */
UNIT_TEST(test_stop_ends_a_flood)
{
    struct flood flood = {.sent = 0};
    struct udp_server *server = server_new("127.0.0.1", &flood.address);
    struct udp_packet *packets;
    pthread_t sender;
    assert_int_equal(pthread_create(&sender, NULL, send_without_end, &flood), 0);
    wait_until_sent(&flood, 3 * UDP_BATCH);
    udp_server_stop(server);
    while (udp_server_receive(server, &packets)) {
        wait_until_sent(&flood, 2 * UDP_BATCH);
    }
    flood.enough = true;
    assert_int_equal(pthread_join(sender, NULL), 0);
    udp_server_free(server);
}

/* Blocked on a socket that another process shares, it still ends; later packets are not lost. */
UNIT_TEST(test_a_shared_socket_is_not_shut_down)
{
    struct addr address;
    struct udp_server *own = server_new("127.0.0.1", &address), *server;
    struct udp_packet *packets;
    struct err err;
    udp_server_free(own); /* only for its free address */
    struct listen_socket socket, shared;
    assert_int_equal(listen_udp(&address, false, &socket, &err), 0);
    shared = socket;
    shared.is_shared = true;
    shared.fd = dup(socket.fd);
    const struct udp_server_config config = {&shared, REPLY_MAX};
    assert_int_equal(udp_server_new(&config, &server, &err), 0);
    int client = client_new(AF_INET);
    udp_server_client_send(client, &address, "a", 1);
    assert_int_equal(udp_server_receive(server, &packets), 1);
    udp_server_stop(server);
    assert_int_equal(udp_server_receive(server, &packets), 0);
    udp_server_free(server);
    char byte;
    udp_server_client_send(client, &address, "b", 1);
    assert_int_equal(recv(socket.fd, &byte, 1, 0), 1);
    assert_int_equal(byte, 'b');
    close(socket.fd);
    close(client);
}
