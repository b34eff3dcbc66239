#include "skydns/listen/passed_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char transport_codes[ENGINE_TRANSPORTS] = {
    [ENGINE_UDP] = 'u',   [ENGINE_TCP] = 't',  [ENGINE_TLS] = 's',
    [ENGINE_HTTPS] = 'h', [ENGINE_HTTP] = 'c', [ENGINE_GRPC] = 'g',
};

char passed_code(enum engine_transport transport)
{
    return transport_codes[transport];
}

void passed_sockets_add(struct passed_sockets *sockets, char code, int fd,
                        const struct addr *address)
{
    if (sockets->count < PASSED_SOCKETS_MAX) {
        sockets->items[sockets->count++] =
            (struct passed_socket){.code = code, .fd = fd, .address = *address};
    }
}

static bool is_known_code(char code)
{
    return code == PASSED_PAGES || code == PASSED_METRICS ||
           memchr(transport_codes, code, sizeof(transport_codes)) != NULL;
}

/* Returns whether the socket is of UDP, for this code, or else listens, and reads its address. */
static bool read_passed(int fd, char code, struct addr *ret_address)
{
    int type = 0, listens = 0;
    socklen_t type_len = sizeof(type), listens_len = sizeof(listens);
    *ret_address = (struct addr){.len = sizeof(ret_address->v6)};
    if (!is_known_code(code) || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_len) < 0 ||
        getsockname(fd, &ret_address->sa, &ret_address->len) < 0) {
        return false;
    }
    const sa_family_t family = ret_address->sa.sa_family;
    return (family == AF_INET || family == AF_INET6) &&
           (code == passed_code(ENGINE_UDP) ? type == SOCK_DGRAM
                                            : type == SOCK_STREAM && listens == 1);
}

void passed_sockets_take(struct passed_sockets *sockets, char code, int fd)
{
    struct addr address;
    if (sockets->count < PASSED_SOCKETS_MAX && read_passed(fd, code, &address)) {
        passed_sockets_add(sockets, code, fd, &address);
    } else {
        (void)close(fd); /* nothing was buffered */
    }
}

int passed_sockets_find(const struct passed_sockets *sockets, char code, const struct addr *address,
                        size_t nth)
{
    for (size_t i = 0; sockets && i < sockets->count; i++) {
        const struct passed_socket *socket = &sockets->items[i];
        if (socket->code == code && addr_equal(&socket->address, address) && nth-- == 0) {
            return socket->fd;
        }
    }
    return -1;
}

size_t passed_sockets_count(const struct passed_sockets *sockets, char code,
                            const struct addr *address)
{
    size_t count = 0;
    while (passed_sockets_find(sockets, code, address, count) >= 0) {
        count++;
    }
    return count;
}

int passed_sockets_share(int fd, struct err *err)
{
    int shared = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return shared < 0 ? err_set(err, -errno, "share a socket: %s", err_code_text(-errno)) : shared;
}

void passed_sockets_close(struct passed_sockets *sockets)
{
    for (size_t i = 0; i < sockets->count; i++) {
        (void)close(sockets->items[i].fd); /* nothing was buffered */
    }
    sockets->count = 0;
}
