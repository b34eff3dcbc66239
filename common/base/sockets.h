/* Opens sockets: connected to an address, or to a Unix socket's path; and listening at a path,
 * where it replaces what was there. Any thread. */
#ifndef COMMON_BASE_SOCKETS_H
#define COMMON_BASE_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"

/* Connects to an address without waiting: a stream's connection may still be under way. type:
 * SOCK_STREAM or SOCK_DGRAM. Returns the descriptor, non-blocking, closed by execve; or -errno. */
int sockets_connect(const struct addr *address, int type) MUST_CHECK;

/* Returns whether the path fits an address; a text of 1 to 107 bytes. */
bool unix_socket_path_fits(const char *path);

/* Listens at the path, non-blocking, closed by execve. type: SOCK_STREAM or SOCK_SEQPACKET. mode:
 * who may connect, as of a file, whatever the umask. Removes a socket that is there, and nothing
 * else. Returns the descriptor, or the code of an error that names the path. */
int unix_socket_listen(const char *path, int type, mode_t mode, struct err *err) MUST_CHECK;

/* Connects. Returns the descriptor, or -errno: -ENOENT and -ECONNREFUSED if nothing listens there,
 * -EAGAIN if the listener's queue is full for so long. Sending has the same limit. */
int unix_socket_connect(const char *path, int type, int64_t timeout_ms) MUST_CHECK;

/* Reads who made the other end. Returns false if the kernel does not say. */
bool unix_socket_peer(int fd, uid_t *ret_user, pid_t *ret_process);

#endif
