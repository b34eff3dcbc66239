/* Makes recv and send as system calls alone. glibc's are cancellation points: in a program with
 * threads, each takes and returns a lock for that, 30 ns of the microseconds that a query over TCP
 * costs. No thread of ours is ever cancelled. Any thread. */
#ifndef SKYDNS_LISTEN_SOCKET_CALLS_H
#define SKYDNS_LISTEN_SOCKET_CALLS_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static inline ssize_t socket_recv(int fd, void *bytes, size_t size, int flags)
{
    return syscall(SYS_recvfrom, fd, bytes, size, flags, NULL, NULL);
}

static inline ssize_t socket_send(int fd, const void *bytes, size_t len, int flags)
{
    return syscall(SYS_sendto, fd, bytes, len, flags, NULL, 0);
}

#endif
