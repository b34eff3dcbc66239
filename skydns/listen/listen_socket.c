#include "skydns/listen/listen_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/xalloc.h"

/* First descriptor that systemd passes, sd_listen_fds(3). */
enum { FIRST_PASSED_FD = 3 };

static const char *const names[ENGINE_TRANSPORTS] = {
    [ENGINE_UDP] = "udp",     [ENGINE_TCP] = "tcp",   [ENGINE_TLS] = "tls",
    [ENGINE_HTTPS] = "https", [ENGINE_HTTP] = "http", [ENGINE_GRPC] = "grpc",
};

const char *listen_transport_name(enum engine_transport transport)
{
    return names[transport];
}

enum engine_transport listen_stream_transport(struct slice name)
{
    int transport = ENGINE_TLS;
    while (transport < ENGINE_TRANSPORTS && !slice_equal(name, slice_str(names[transport]))) {
        transport++;
    }
    return (enum engine_transport)transport;
}

/* Binds the socket; -1 with errno. */
static int bind_listener(int fd, const struct addr *address, unsigned flags)
{
    const bool is_ipv6 = address->sa.sa_family == AF_INET6;
    int v6_only = (flags & LISTEN_V6_ONLY) != 0, on = 1;
    if (is_ipv6 && addr_is_wildcard(address) &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof(v6_only)) < 0) {
        return -1;
    }
    if ((flags & LISTEN_ABSENT) != 0 &&
        setsockopt(fd, is_ipv6 ? IPPROTO_IPV6 : IPPROTO_IP, is_ipv6 ? IPV6_FREEBIND : IP_FREEBIND,
                   &on, sizeof(on)) < 0) {
        return -1;
    }
    return bind(fd, &address->sa, address->len);
}

int listen_udp(const struct addr *address, unsigned flags, struct listen_socket *ret_socket,
               struct err *err)
{
    int on = 1;
    CLEANUP_CLOSE int fd = socket(address->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0 ||
        bind_listener(fd, address, flags) < 0) {
        return listen_error("udp", address, -errno, err);
    }
    *ret_socket = (struct listen_socket){
        .fd = STEAL_FD(fd),
        .address = *address,
        .transport = ENGINE_UDP,
    };
    return 0;
}

/* Accepts a connection once its first bytes have arrived, so that it does not wake us twice; a
 * silent one is accepted after this time. In every protocol here, the client speaks first. */
enum { ACCEPT_SILENT_S = 1 };

/* Sizes to set; the kernel doubles them for its bookkeeping. Left alone, it would grow the buffers
 * of each connection to megabytes: gigabytes for a client that takes every connection and reads
 * nothing. */
enum {
    TCP_RECEIVE_BUFFER = 32 * 1024, /* some 500 queries; a longer one takes more round trips */
    TCP_SEND_BUFFER = 64 * 1024,    /* the answers of one turn of the loop (TCP_OUTPUT_A_TURN) */
};

/* Bounds the buffers, which accepted sockets inherit. A kernel that refuses keeps its own. */
static void bound_buffers(int fd)
{
    const int receive = TCP_RECEIVE_BUFFER, to_send = TCP_SEND_BUFFER;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive, sizeof(receive));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &to_send, sizeof(to_send));
}

/* Sets TCP_NODELAY, which accepted sockets inherit: answers never wait for an acknowledgement. */
int listen_stream(enum engine_transport transport, const struct addr *address, unsigned flags,
                  struct listen_socket *ret_socket, struct err *err)
{
    int on = 1, silent_s = ACCEPT_SILENT_S;
    CLEANUP_CLOSE int fd =
        socket(address->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &silent_s, sizeof(silent_s)) < 0 ||
        bind_listener(fd, address, flags) < 0) {
        return listen_error(names[transport], address, -errno, err);
    }
    bound_buffers(fd);
    if (listen(fd, LISTEN_BACKLOG) < 0) {
        return listen_error(names[transport], address, -errno, err);
    }
    *ret_socket = (struct listen_socket){
        .fd = STEAL_FD(fd),
        .address = *address,
        .transport = transport,
    };
    return 0;
}

int listen_tcp(const struct addr *address, unsigned flags, struct listen_socket *ret_socket,
               struct err *err)
{
    return listen_stream(ENGINE_TCP, address, flags, ret_socket, err);
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
static long listen_socket_take_number(const char *name)
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

static int listen_socket_refuse(int fd, const char *what, struct err *err)
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

/* Returns the next name of LISTEN_FDNAMES, "a:b"; empty when there are no more. */
static struct slice listen_socket_next_name(const char **names_left)
{
    struct slice name = slice_of(*names_left, strcspn(*names_left, ":"));
    *names_left += name.len;
    *names_left += **names_left == ':';
    return name;
}

/* Returns room for a further socket of its transport; NULL: there is none. */
static struct listen_socket *listen_socket_add(struct listen_sockets *sockets,
                                               enum engine_transport transport)
{
    struct {
        struct listen_socket *items;
        size_t *count;
    } kind = {sockets->streams, &sockets->stream_count};
    if (transport == ENGINE_UDP) {
        kind.items = sockets->udp;
        kind.count = &sockets->udp_count;
    } else if (transport == ENGINE_TCP) {
        kind.items = sockets->tcp;
        kind.count = &sockets->tcp_count;
    }
    return *kind.count < LISTEN_SOCKETS_MAX ? &kind.items[(*kind.count)++] : NULL;
}

static enum engine_transport tcp_transport(struct slice name)
{
    enum engine_transport transport = listen_stream_transport(name);
    return transport == ENGINE_TRANSPORTS ? ENGINE_TCP : transport;
}

static int take_fd(int fd, struct slice name, struct listen_sockets *sockets, struct err *err)
{
    struct listen_socket socket = {
        .fd = fd, .address.len = sizeof(socket.address.v6), .is_shared = true};
    if (getsockname(fd, &socket.address.sa, &socket.address.len) < 0) {
        return listen_socket_refuse(fd, "no socket", err);
    }
    if (socket.address.sa.sa_family != AF_INET && socket.address.sa.sa_family != AF_INET6) {
        return listen_socket_refuse(fd, "not an internet socket", err);
    }
    bool is_udp = get_int_option(fd, SO_TYPE) == SOCK_DGRAM;
    if (!is_udp && get_int_option(fd, SO_ACCEPTCONN) != 1) {
        return listen_socket_refuse(fd, "a TCP socket that does not listen", err);
    }
    socket.transport = is_udp ? ENGINE_UDP : tcp_transport(name);
    struct listen_socket *place = listen_socket_add(sockets, socket.transport);
    if (!place) {
        return err_set(err, ERR_USAGE, "flag -systemd: more than %d sockets of a kind",
                       LISTEN_SOCKETS_MAX);
    }
    if (set_blocking(fd, is_udp) < 0) {
        return err_set(err, -errno, "flag -systemd: descriptor %d: %s", fd, err_code_text(-errno));
    }
    if (!is_udp) {
        bound_buffers(fd);
    }
    *place = socket;
    return 0;
}

static int take_all(int count, const char *fd_names, struct listen_sockets *sockets,
                    struct err *err)
{
    int r = 0;
    for (int i = 0; i < count && r == 0; i++) {
        r = take_fd(FIRST_PASSED_FD + i, listen_socket_next_name(&fd_names), sockets, err);
    }
    return r;
}

int listen_from_systemd(struct listen_sockets *ret_sockets, struct err *err)
{
    struct listen_sockets sockets = {0};
    long pid = listen_socket_take_number("LISTEN_PID"),
         count = listen_socket_take_number("LISTEN_FDS");
    const char *value = getenv("LISTEN_FDNAMES");
    CLEANUP_FREE char *fd_names = xstrdup(value ? value : "");
    (void)unsetenv("LISTEN_FDNAMES"); /* the name is valid: it cannot fail */
    if (pid != (long)getpid() || count <= 0) {
        return err_set(
            err, ERR_USAGE,
            "flag -systemd: no sockets were passed; expected to be started by a .socket unit");
    }
    if (count > LISTEN_PASSED_MAX) {
        return err_set(err, ERR_USAGE, "flag -systemd: %ld sockets, expected at most %d", count,
                       LISTEN_PASSED_MAX);
    }
    int r = take_all((int)count, fd_names, &sockets, err);
    if (r == 0) {
        *ret_sockets = sockets;
    }
    return r;
}

static void close_each(const struct listen_socket *sockets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (sockets[i].fd >= 0) {
            (void)close(sockets[i].fd); /* nothing was buffered */
        }
    }
}

void listen_sockets_close(struct listen_sockets *sockets)
{
    close_each(sockets->udp, sockets->udp_count);
    close_each(sockets->tcp, sockets->tcp_count);
    close_each(sockets->streams, sockets->stream_count);
    *sockets = (struct listen_sockets){0};
}

static const char *listen_socket_advice(int code)
{
    switch (code) {
    case -EACCES:
        return "ports below 1024 need root, CAP_NET_BIND_SERVICE (of the file: not with "
               "no_new_privs), or the sysctl net.ipv4.ip_unprivileged_port_start=0; or choose "
               "another -addr";
    case -EADDRINUSE:
        return "stop the program that has the port, or choose another -addr";
    case -EADDRNOTAVAIL:
        return "no interface has this address; choose another -addr, or set -freebind";
    default:
        return "choose another -addr";
    }
}

int listen_error(const char *transport, const struct addr *address, int code, struct err *err)
{
    char text[ADDR_TEXT_MAX];
    return err_set(err, code, "listen on %s://%s: %s; %s", transport, addr_format(address, text),
                   err_code_text(code), listen_socket_advice(code));
}
