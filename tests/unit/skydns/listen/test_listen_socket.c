/* The sockets that receive queries: errors that say what to do, IPv4 and IPv6 side by side, and
 * sockets passed by systemd. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "skydns/listen/listen_socket.h"
#include "tests/support/unit_test.h"

static struct addr listen_socket_address_of(const char *text)
{
    struct addr address;
    struct err err;
    assert_int_equal(addr_parse(text, &address, &err), 0);
    return address;
}

/* Bound to a free port, returned in the address. */
static int listen_socket_bound(int type, struct addr *address)
{
    int fd = socket(address->sa.sa_family, type, 0);
    assert_true(fd >= 0);
    address->v4.sin_port = 0;
    assert_int_equal(bind(fd, &address->sa, address->len), 0);
    assert_int_equal(getsockname(fd, &address->sa, &address->len), 0);
    return fd;
}

typedef int (*listen_fn)(const struct addr *, unsigned, struct listen_socket *, struct err *);

static int listen_https(const struct addr *address, unsigned flags, struct listen_socket *ret,
                        struct err *err)
{
    return listen_stream(ENGINE_HTTPS, address, flags, ret, err);
}

UNIT_TEST(test_errors_say_what_to_do)
{
    static const struct {
        listen_fn listen;
        int type;
        const char *name;
    } rows[] = {
        {listen_udp, SOCK_DGRAM, "udp://"},
        {listen_tcp, SOCK_STREAM, "tcp://"},
        {listen_https, SOCK_STREAM, "https://"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct listen_socket listening = {.fd = -1};
        struct addr absent = listen_socket_address_of("240.0.0.1:5353"),
                    used = listen_socket_address_of("127.0.0.1:1");
        struct err err = {0};
        assert_int_equal(rows[i].listen(&absent, false, &listening, &err), -EADDRNOTAVAIL);
        assert_non_null(strstr(err.msg, rows[i].name));
        assert_non_null(strstr(err.msg, "240.0.0.1:5353"));
        assert_non_null(strstr(err.msg, "-addr"));
        absent = listen_socket_address_of("203.0.113.1:5353");
        assert_int_equal(rows[i].listen(&absent, LISTEN_ABSENT, &listening, &err), 0);
        close(listening.fd);
        absent = listen_socket_address_of("[2001:db8::1]:5353");
        assert_int_equal(rows[i].listen(&absent, LISTEN_ABSENT, &listening, &err), 0);
        close(listening.fd);
        listening.fd = -1;
        int fd = listen_socket_bound(rows[i].type, &used);
        assert_int_equal(rows[i].listen(&used, false, &listening, &err), -EADDRINUSE);
        assert_non_null(strstr(err.msg, "stop the program that has the port"));
        assert_int_equal(listening.fd, -1);
        close(fd);
    }
}

enum { TIMEOUT_MS = 20000 };

UNIT_TEST(test_udp_sockets_share_an_address)
{
    struct addr address = listen_socket_address_of("127.0.0.1:1");
    struct listen_socket a, b;
    struct err err;
    close(listen_socket_bound(SOCK_DGRAM, &address));
    assert_int_equal(listen_udp(&address, false, &a, &err), 0);
    assert_int_equal(listen_udp(&address, false, &b, &err), 0);
    close(a.fd);
    close(b.fd);
}

static int option_of(int fd, int option)
{
    int value;
    socklen_t len = sizeof(value);
    assert_int_equal(getsockopt(fd, SOL_SOCKET, option, &value, &len), 0);
    return value;
}

/* Limits what the kernel may hold for a client that does not read; twice what was set. */
UNIT_TEST(test_accepted_sockets_have_small_buffers)
{
    struct addr address = listen_socket_address_of("127.0.0.1:1");
    struct listen_socket socket_;
    struct err err;
    close(listen_socket_bound(SOCK_STREAM, &address));
    assert_int_equal(listen_tcp(&address, false, &socket_, &err), 0);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(client, &address.sa, address.len), 0);
    assert_int_equal(send(client, "x", 1, MSG_NOSIGNAL), 1); /* accepted once it has sent */
    struct pollfd ready = {.fd = socket_.fd, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, TIMEOUT_MS), 1);
    int fd = accept(socket_.fd, NULL, NULL);
    assert_true(fd >= 0);
    assert_in_range(option_of(fd, SO_RCVBUF), 1, 64 * 1024);
    assert_in_range(option_of(fd, SO_SNDBUF), 1, 128 * 1024);
    close(fd);
    close(client);
    close(socket_.fd);
}

/* `0.0.0.0:P` and `[::]:P` side by side, or the second alone for both. */
UNIT_TEST(test_both_wildcards)
{
    struct addr list[] = {listen_socket_address_of("0.0.0.0:1"),
                          listen_socket_address_of("[::]:1")};
    struct listen_socket four, six;
    struct err err;
    close(listen_socket_bound(SOCK_STREAM, &list[0]));
    list[1].v6.sin6_port = list[0].v4.sin_port;
    assert_true(listen_wants_v6_only(list, 2, &list[1]));
    assert_false(listen_wants_v6_only(list + 1, 1, &list[1]));
    assert_int_equal(listen_tcp(&list[0], false, &four, &err), 0);
    assert_int_equal(listen_tcp(&list[1], true, &six, &err), 0);
    close(six.fd);
    assert_int_equal(listen_tcp(&list[1], false, &six, &err), -EADDRINUSE);
    close(four.fd);
    assert_int_equal(listen_tcp(&list[1], false, &six, &err), 0);
    close(six.fd);
}

/* ---- systemd ---- */

enum { FIRST_PASSED_FD = 3 };

/* fds must lie above those passed: see listen_socket_high(). */
static void pass_named(const int *fds, int count, const char *names)
{
    char number[16];
    for (int i = 0; i < count; i++) {
        assert_int_equal(dup2(fds[i], FIRST_PASSED_FD + i), FIRST_PASSED_FD + i);
    }
    (void)snprintf(number, sizeof(number), "%d", (int)getpid());
    assert_int_equal(setenv("LISTEN_PID", number, 1), 0);
    (void)snprintf(number, sizeof(number), "%d", count);
    assert_int_equal(setenv("LISTEN_FDS", number, 1), 0);
    assert_int_equal(setenv("LISTEN_FDNAMES", names, 1), 0);
}

static void listen_socket_pass(const int *fds, int count)
{
    pass_named(fds, count, "a:b");
}

static int listen_socket_high(int fd)
{
    int moved = fcntl(fd, F_DUPFD, 100);
    assert_true(moved >= 100);
    close(fd);
    return moved;
}

UNIT_TEST(test_what_systemd_passes)
{
    struct addr udp = listen_socket_address_of("127.0.0.1:1"),
                tcp = listen_socket_address_of("[::1]:1");
    struct listen_sockets sockets;
    struct err err = {0};
    int fds[2] = {listen_socket_high(listen_socket_bound(SOCK_DGRAM, &udp)),
                  listen_socket_high(listen_socket_bound(SOCK_STREAM, &tcp))};
    assert_int_equal(listen(fds[1], 4), 0);
    listen_socket_pass(fds, 2);
    assert_int_equal(listen_from_systemd(&sockets, &err), 0);
    assert_int_equal(sockets.udp_count, 1);
    assert_int_equal(sockets.tcp_count, 1);
    assert_true(sockets.udp[0].is_shared && sockets.tcp[0].is_shared);
    assert_true(addr_equal(&sockets.udp[0].address, &udp));
    assert_true(addr_equal(&sockets.tcp[0].address, &tcp));
    assert_int_equal(fcntl(sockets.udp[0].fd, F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(fcntl(sockets.tcp[0].fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    assert_int_equal(fcntl(sockets.udp[0].fd, F_GETFD), FD_CLOEXEC);
    assert_null(getenv("LISTEN_PID"));
    assert_null(getenv("LISTEN_FDS"));
    assert_null(getenv("LISTEN_FDNAMES"));
    listen_sockets_close(&sockets);
    assert_int_equal(listen_from_systemd(&sockets, &err), ERR_USAGE); /* only once */
    close(fds[0]);
    close(fds[1]);
}

/* A name makes a TCP socket a stream; of a UDP socket it says nothing. */
UNIT_TEST(test_names_that_systemd_passes)
{
    static const struct {
        const char *names;
        enum engine_transport want;
    } rows[] = {
        {"tls:tls", ENGINE_TLS},    {"x:https", ENGINE_HTTPS},
        {"http:http", ENGINE_HTTP}, {"skydns.socket:grpc", ENGINE_GRPC},
        {":tls", ENGINE_TLS},       {"tls", ENGINE_TCP},
        {"tls:dot", ENGINE_TCP},    {"tls:TLS", ENGINE_TCP},
        {"", ENGINE_TCP},           {"udp:udp", ENGINE_TCP},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct addr udp = listen_socket_address_of("127.0.0.1:1"),
                    tcp = listen_socket_address_of("127.0.0.1:1");
        struct listen_sockets sockets;
        struct err err = {0};
        int fds[2] = {listen_socket_high(listen_socket_bound(SOCK_DGRAM, &udp)),
                      listen_socket_high(listen_socket_bound(SOCK_STREAM, &tcp))};
        assert_int_equal(listen(fds[1], 4), 0);
        pass_named(fds, 2, rows[i].names);
        assert_int_equal(listen_from_systemd(&sockets, &err), 0);
        bool is_stream = rows[i].want != ENGINE_TCP;
        assert_int_equal(sockets.udp_count, 1);
        assert_int_equal(sockets.tcp_count, is_stream ? 0 : 1);
        assert_int_equal(sockets.stream_count, is_stream ? 1 : 0);
        const struct listen_socket *found = is_stream ? &sockets.streams[0] : &sockets.tcp[0];
        assert_int_equal(sockets.udp[0].transport, ENGINE_UDP);
        assert_int_equal(found->transport, rows[i].want);
        assert_true(addr_equal(&found->address, &tcp));
        listen_sockets_close(&sockets);
        close(fds[0]);
        close(fds[1]);
    }
}

UNIT_TEST(test_too_many_of_a_kind)
{
    enum { COUNT = LISTEN_SOCKETS_MAX + 1 };
    int fds[COUNT];
    char names[5 * COUNT + 1] = "";
    struct addr tcp = listen_socket_address_of("127.0.0.1:1");
    struct listen_sockets sockets;
    struct err err = {0};
    fds[0] = listen_socket_high(listen_socket_bound(SOCK_STREAM, &tcp));
    assert_int_equal(listen(fds[0], 4), 0);
    for (size_t i = 0; i < COUNT; i++) {
        memcpy(names + 5 * i, "grpc:", 6);
        fds[i] = i ? fcntl(fds[0], F_DUPFD, 100) : fds[0];
    }
    pass_named(fds, COUNT, names);
    assert_int_equal(listen_from_systemd(&sockets, &err), ERR_USAGE);
    assert_non_null(strstr(err.msg, "more than 16 sockets of a kind"));
    for (int i = 0; i < COUNT; i++) {
        close(fds[i]);
        close(FIRST_PASSED_FD + i);
    }
}

UNIT_TEST(test_what_systemd_should_not_pass)
{
    struct addr tcp = listen_socket_address_of("127.0.0.1:1");
    int local[2], pipes[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, local), 0);
    assert_int_equal(pipe(pipes), 0);
    const struct {
        int fd;
        const char *want;
    } rows[] = {
        {listen_socket_high(listen_socket_bound(SOCK_STREAM, &tcp)), "does not listen"},
        {listen_socket_high(local[0]), "not an internet socket"},
        {listen_socket_high(pipes[0]), "no socket"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct listen_sockets sockets;
        struct err err = {0};
        listen_socket_pass(&rows[i].fd, 1);
        assert_int_equal(listen_from_systemd(&sockets, &err), ERR_USAGE);
        assert_non_null(strstr(err.msg, rows[i].want));
        close(FIRST_PASSED_FD);
        close(rows[i].fd);
    }
    close(local[1]);
    close(pipes[1]);
}

UNIT_TEST(test_none_passed)
{
    static const struct {
        const char *pid, *fds;
    } rows[] = {{NULL, NULL},  {"1", "1"},     {"self", "0"},
                {"self", "x"}, {"self", "49"}, {"self", "-1"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct listen_sockets sockets;
        struct err err = {0};
        if (rows[i].pid) {
            listen_socket_pass(NULL, 0);
            assert_int_equal(setenv("LISTEN_FDS", rows[i].fds, 1), 0);
        }
        if (rows[i].pid && strcmp(rows[i].pid, "self") != 0) {
            assert_int_equal(setenv("LISTEN_PID", rows[i].pid, 1), 0);
        }
        assert_int_equal(listen_from_systemd(&sockets, &err), ERR_USAGE);
        assert_non_null(strstr(err.msg, "-systemd"));
    }
}
