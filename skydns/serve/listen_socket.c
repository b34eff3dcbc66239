#include "skydns/serve/listen_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "skydns/serve/listen_error_internal.h"

/* The first descriptor that systemd passes, sd_listen_fds(3). */
enum { FIRST_PASSED_FD = 3 };

static int set_v6_only(int fd, const struct addr *address, bool v6_only)
{
    int on = v6_only;
    return address->sa.sa_family == AF_INET6 && addr_is_wildcard(address)
               ? setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on))
               : 0;
}

int listen_udp(const struct addr *address, bool v6_only, struct listen_socket *ret_socket,
               struct err *err)
{
    int on = 1;
    CLEANUP_CLOSE int fd = socket(address->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0 ||
        set_v6_only(fd, address, v6_only) < 0 || bind(fd, &address->sa, address->len) < 0) {
        return listen_error("udp", address, -errno, err);
    }
    *ret_socket = (struct listen_socket){.fd = STEAL_FD(fd), .address = *address};
    return 0;
}

/* A connection is accepted once its first query has arrived, so that it does not wake us twice; a
 * silent one is accepted after this time. */
enum { ACCEPT_SILENT_S = 1 };

/* Asked for; the kernel doubles them for its bookkeeping. Left alone, it would grow the buffers of
 * each connection to megabytes: gigabytes for a client that takes every place and reads nothing. */
enum {
    TCP_RECEIVE_BUFFER = 32 * 1024, /* some 500 queries; a longer one takes more round trips */
    TCP_SEND_BUFFER = 64 * 1024,    /* the answers of one turn of the loop (TCP_OUTPUT_A_TURN) */
};

/* Accepted sockets inherit these. A kernel that refuses keeps its own. */
static void bound_buffers(int fd)
{
    const int receive = TCP_RECEIVE_BUFFER, to_send = TCP_SEND_BUFFER;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive, sizeof(receive));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &to_send, sizeof(to_send));
}

/* Accepted sockets inherit TCP_NODELAY: answers never wait for an acknowledgement. */
int listen_tcp(const struct addr *address, bool v6_only, struct listen_socket *ret_socket,
               struct err *err)
{
    int on = 1, silent_s = ACCEPT_SILENT_S;
    CLEANUP_CLOSE int fd =
        socket(address->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &silent_s, sizeof(silent_s)) < 0 ||
        set_v6_only(fd, address, v6_only) < 0 || bind(fd, &address->sa, address->len) < 0) {
        return listen_error("tcp", address, -errno, err);
    }
    bound_buffers(fd);
    if (listen(fd, LISTEN_BACKLOG) < 0) {
        return listen_error("tcp", address, -errno, err);
    }
    *ret_socket = (struct listen_socket){.fd = STEAL_FD(fd), .address = *address};
    return 0;
}

bool listen_wants_v6_only(const struct addr *addresses, size_t count, const struct addr *address)
{
    for (size_t i = 0; i < count; i++) {
        if (addresses[i].sa.sa_family == AF_INET &&
            addr_port(&addresses[i]) == addr_port(address)) {
            return true;
        }
    }
    return false;
}

/* ---- systemd ---- */

/* Removes a whole number from the environment; -1: none. */
static long take_number(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    long n = text && *text ? strtol(text, &end, 10) : -1;
    bool is_number = end && *end == '\0';
    (void)unsetenv(name); /* the name is valid: it cannot fail */
    return is_number ? n : -1;
}

static int get_int_option(int fd, int option)
{
    int value = -1;
    socklen_t len = sizeof(value);
    return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 ? value : -1;
}

static int refuse(int fd, const char *what, struct err *err)
{
    return err_set(
        err, ERR_USAGE,
        "flag -systemd: descriptor %d is %s, expected a UDP socket, or a TCP socket that "
        "listens",
        fd, what);
}

static int set_blocking(int fd, bool is_blocking)
{
    int flags = fcntl(fd, F_GETFL);
    int wanted = is_blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
    return flags < 0 || fcntl(fd, F_SETFL, wanted) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? -1
                                                                                             : 0;
}

static int take_fd(int fd, struct listen_sockets *sockets, struct err *err)
{
    struct listen_socket socket = {
        .fd = fd, .address.len = sizeof(socket.address.v6), .is_shared = true};
    if (getsockname(fd, &socket.address.sa, &socket.address.len) < 0) {
        return refuse(fd, "no socket", err);
    }
    if (socket.address.sa.sa_family != AF_INET && socket.address.sa.sa_family != AF_INET6) {
        return refuse(fd, "not an internet socket", err);
    }
    bool is_udp = get_int_option(fd, SO_TYPE) == SOCK_DGRAM;
    if (!is_udp && get_int_option(fd, SO_ACCEPTCONN) != 1) {
        return refuse(fd, "a TCP socket that does not listen", err);
    }
    size_t *count = is_udp ? &sockets->udp_count : &sockets->tcp_count;
    if (*count == LISTEN_SOCKETS_MAX) {
        return err_set(err, ERR_USAGE, "flag -systemd: more than %d sockets of a kind",
                       LISTEN_SOCKETS_MAX);
    }
    if (set_blocking(fd, is_udp) < 0) {
        return err_set(err, -errno, "flag -systemd: descriptor %d: %s", fd, err_code_text(-errno));
    }
    if (!is_udp) {
        bound_buffers(fd);
    }
    (is_udp ? sockets->udp : sockets->tcp)[(*count)++] = socket;
    return 0;
}

int listen_from_systemd(struct listen_sockets *ret_sockets, struct err *err)
{
    struct listen_sockets sockets = {0};
    long pid = take_number("LISTEN_PID"), count = take_number("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES"); /* the name is valid: it cannot fail */
    if (pid != (long)getpid() || count <= 0) {
        return err_set(
            err, ERR_USAGE,
            "flag -systemd: no sockets were passed; expected to be started by a .socket unit");
    }
    if (count > 2 * LISTEN_SOCKETS_MAX) {
        return err_set(err, ERR_USAGE, "flag -systemd: %ld sockets, expected at most %d", count,
                       2 * LISTEN_SOCKETS_MAX);
    }
    for (int i = 0; i < count; i++) {
        int r = take_fd(FIRST_PASSED_FD + i, &sockets, err);
        if (r < 0) {
            return r;
        }
    }
    *ret_sockets = sockets;
    return 0;
}

void listen_sockets_close(struct listen_sockets *sockets)
{
    for (size_t i = 0; i < sockets->udp_count; i++) {
        if (sockets->udp[i].fd >= 0) {
            (void)close(sockets->udp[i].fd); /* nothing was buffered */
        }
    }
    for (size_t i = 0; i < sockets->tcp_count; i++) {
        if (sockets->tcp[i].fd >= 0) {
            (void)close(sockets->tcp[i].fd); /* the same */
        }
    }
    *sockets = (struct listen_sockets){0};
}
