#include "skydns/handover/handover_join_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/sockets.h"
#include "common/base/xalloc.h"

struct handover_join {
    int fd;
    pid_t process;
};

/* Takes the descriptors of a message: closes those without a code. */
static void take_descriptors(struct msghdr *in, const struct handover_message *message,
                             struct passed_sockets *sockets)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(in); c; c = CMSG_NXTHDR(in, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
            passed_sockets_take(sockets, i < message->sockets.count ? message->sockets.codes[i] : 0,
                                fd);
        }
    }
}

static int handover_join_failed(const char *why, struct err *err)
{
    return err_set(err, ERR_REFUSED, "flag -reuse-port: the running skydns keeps its addresses: %s",
                   why);
}

static int handover_join_receive(const struct handover_join *join, int flags,
                                 struct passed_sockets *sockets, struct err *err)
{
    _Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(PASSED_SOCKETS_MAX * sizeof(int))];
    uint8_t bytes[HANDOVER_MESSAGE_MAX];
    struct iovec iov = {bytes, sizeof(bytes)};
    struct msghdr in = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = sockets ? control : NULL,
        .msg_controllen = sockets ? sizeof(control) : 0,
    };
    ssize_t n = recvmsg(join->fd, &in, MSG_CMSG_CLOEXEC | flags);
    /* ECONNRESET comes once, if it was closed unread: its answer comes after. */
    while (n < 0 && (errno == ECONNRESET || errno == EINTR)) {
        const bool was_reset = errno == ECONNRESET;
        n = recvmsg(join->fd, &in, MSG_CMSG_CLOEXEC | flags);
        if (was_reset && n < 0 && errno == ECONNRESET) {
            break;
        }
    }
    struct handover_message message = {.type = HANDOVER_SERVING};
    if (n == 0 || (n < 0 && errno == ECONNRESET)) {
        return 1; /* it has ended */
    }
    if (n < 0) {
        return flags & MSG_DONTWAIT ? 0
               : errno == EAGAIN    ? handover_join_failed("it does not answer", err)
                                    : handover_join_failed(err_code_text(-errno), err);
    }
    int r = handover_message_read(slice_of(bytes, (size_t)n), &message);
    if (sockets) {
        take_descriptors(&in, &message, sockets);
    }
    if (in.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) {
        return handover_join_failed("not all of its sockets arrived; expected a larger limit of "
                                    "open files",
                                    err);
    }
    if (r == 0 && message.type == HANDOVER_REFUSED) {
        return handover_join_failed(handover_refusal_text(message.refusal), err);
    }
    return r == 0 && message.type == HANDOVER_SOCKETS && sockets
               ? 0
               : handover_join_failed("its answer is of no version that this one knows", err);
}

static int say_hello(const struct handover_join *join, const struct handover_place *place,
                     struct passed_sockets *sockets, struct err *err)
{
    const struct timeval limit = {.tv_sec = HANDOVER_ANSWER_MS / 1000};
    struct handover_message hello = {.type = HANDOVER_HELLO};
    uint8_t bytes[HANDOVER_MESSAGE_MAX];
    int r = handover_place_read_key(place, hello.secret, err);
    if (r < 0) {
        return r;
    }
    const size_t len = handover_message_write(&hello, bytes);
    if (setsockopt(join->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
        send(join->fd, bytes, len, MSG_NOSIGNAL) != (ssize_t)len) {
        return handover_join_failed("it does not listen", err);
    }
    r = handover_join_receive(join, 0, sockets, err);
    return r == 1 ? handover_join_failed("it has just ended", err) : r;
}

int handover_join_new(const struct handover_place *place, uid_t user,
                      struct passed_sockets *ret_sockets, struct handover_join **ret_join,
                      struct err *err)
{
    struct handover_join join = {.process = 0};
    uid_t owner;
    *ret_join = NULL;
    CLEANUP_CLOSE int fd = unix_socket_connect(place->socket, SOCK_SEQPACKET, HANDOVER_ANSWER_MS);
    if (fd == -ENOENT || fd == -ECONNREFUSED) {
        return 0;
    }
    if (fd == -EAGAIN) {
        return handover_join_failed("it does not answer", err);
    }
    if (fd < 0) {
        return err_set(err, fd, "flag -reuse-port: %s: %s", place->socket, err_code_text(fd));
    }
    join.fd = fd;
    if (!unix_socket_peer(fd, &owner, &join.process) || owner != user) {
        return handover_join_failed("another user's, expected the same", err);
    }
    int r = say_hello(&join, place, ret_sockets, err);
    if (r == 0) {
        *ret_join = xmalloc(sizeof(join));
        **ret_join = join;
        (void)STEAL_FD(fd);
    } else {
        passed_sockets_close(ret_sockets);
    }
    return r;
}

void handover_join_free(struct handover_join *join)
{
    if (join) {
        (void)close(join->fd); /* nothing was buffered */
        free(join);
    }
}

int handover_join_fd(const struct handover_join *join)
{
    return join->fd;
}

pid_t handover_join_process(const struct handover_join *join)
{
    return join->process;
}

int handover_join_look(const struct handover_join *join, struct err *err)
{
    return handover_join_receive(join, MSG_DONTWAIT, NULL, err);
}

bool handover_join_serving(const struct handover_join *join)
{
    const struct handover_message serving = {.type = HANDOVER_SERVING};
    uint8_t bytes[HANDOVER_MESSAGE_MAX];
    const size_t len = handover_message_write(&serving, bytes);
    return send(join->fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len;
}
