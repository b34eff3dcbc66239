#include "common/base/sockets.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/cleanup.h"

enum { UNIX_BACKLOG = 64 };

int sockets_connect(const struct addr *address, int type)
{
    CLEANUP_CLOSE int fd = socket(address->sa.sa_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || (connect(fd, &address->sa, address->len) < 0 && errno != EINPROGRESS)) {
        return -errno;
    }
    return STEAL_FD(fd);
}

bool unix_socket_path_fits(const char *path)
{
    size_t len = strlen(path);
    return len > 0 && len < sizeof(((struct sockaddr_un *)NULL)->sun_path);
}

static struct sockaddr_un unix_socket_address(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path) + 1); /* it fits: checked by the callers */
    return address;
}

/* The mode of the descriptor's inode is that of the file which bind makes, less the umask's bits:
 * those are put back before anybody can connect. */
static int unix_socket_bind(int fd, const char *path, mode_t mode)
{
    const struct sockaddr_un address = unix_socket_address(path);
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && unlink(path) < 0) {
        return -errno;
    }
    if (fchmod(fd, mode) < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        ((mode & 077) != 0 && chmod(path, mode) < 0) || listen(fd, UNIX_BACKLOG) < 0) {
        return -errno;
    }
    return 0;
}

int unix_socket_listen(const char *path, int type, mode_t mode, struct err *err)
{
    CLEANUP_CLOSE int fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int r = !unix_socket_path_fits(path) ? -ENAMETOOLONG
            : fd < 0                     ? -errno
                                         : unix_socket_bind(fd, path, mode);
    return r < 0 ? err_set(err, r, "listen on %s: %s", path, err_code_text(r)) : STEAL_FD(fd);
}

int unix_socket_connect(const char *path, int type, int64_t timeout_ms)
{
    const struct timeval limit = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    if (!unix_socket_path_fits(path)) {
        return -ENAMETOOLONG;
    }
    const struct sockaddr_un address = unix_socket_address(path);
    CLEANUP_CLOSE int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0 ||
        connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        return -errno;
    }
    return STEAL_FD(fd);
}

bool unix_socket_peer(int fd, uid_t *ret_user, pid_t *ret_process)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0) {
        return false;
    }
    *ret_user = peer.uid;
    *ret_process = peer.pid;
    return true;
}
