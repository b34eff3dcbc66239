#include "tests/bench/answers/udp_socket.h"

#include <errno.h>
#include <sys/socket.h>

enum { RECEIVE_BUFFER = 4 << 20 };

int udp_socket(const struct addr *peer, int flags, struct err *err)
{
    const int size = RECEIVE_BUFFER;
    int fd = socket(peer->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | flags, 0);
    if (fd < 0) {
        return err_set(err, -errno, "socket: %s", err_code_text(-errno));
    }
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)); /* the kernel caps it */
    }
    return fd;
}
