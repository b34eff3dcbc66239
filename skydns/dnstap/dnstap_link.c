#include "skydns/dnstap/dnstap_link_internal.h"

#include <errno.h>
#include <fstrm.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/xalloc.h"

static const char content_type[] = "protobuf:dnstap.Dnstap";

/* ---- Waiting ---- */

static int64_t stop_ms(const struct dnstap_link *link)
{
    return atomic_load_explicit(&link->stop_ms, memory_order_acquire);
}

/* Returns the time left in milliseconds, for poll. */
static int time_left(int64_t until_ms)
{
    int64_t left = until_ms - clock_monotonic_ms();
    return left < 0 ? 0 : (int)left;
}

/* Waits until the socket is ready, this time, or that of the stop, which may come meanwhile. */
static int dnstap_link_wait_for(const struct dnstap_link *link, short events, int64_t until_ms)
{
    for (;;) {
        int64_t stop = stop_ms(link);
        struct pollfd fds[] = {{.fd = link->fd, .events = events},
                               {.fd = stop ? -1 : link->wake, .events = POLLIN}};
        int left = time_left(stop && stop < until_ms ? stop : until_ms);
        int n = poll(fds, ARRAY_LEN(fds), left);
        if (n < 0 && errno != EINTR) {
            return -errno;
        }
        if (n > 0 && fds[0].revents) {
            return 0; /* errors, too: the call that follows tells */
        }
        if (left == 0) {
            return -ETIMEDOUT;
        }
        uint64_t count;
        if (n > 0 && read(link->wake, &count, sizeof(count)) < 0 && errno != EAGAIN) {
            return -errno;
        }
    }
}

/* ---- The socket, as libfstrm calls it ---- */

static fstrm_res dnstap_link_result(struct dnstap_link *link, int code)
{
    if (code < 0 && link->code == 0) {
        link->code = code;
    }
    return code < 0 ? fstrm_res_failure : fstrm_res_success;
}

static int connect_socket(struct dnstap_link *link, int fd)
{
    const struct dnstap_target *t = &link->target;
    const struct sockaddr *sa =
        t->is_unix ? (const struct sockaddr *)&t->unix_path : &t->address.sa;
    socklen_t len = t->is_unix ? sizeof(t->unix_path) : t->address.len;
    if (connect(fd, sa, len) == 0) {
        return 0;
    }
    if (errno != EINPROGRESS) { /* EAGAIN of a Unix socket: too many wait for the sink */
        return -errno;
    }
    int code = dnstap_link_wait_for(link, POLLOUT, link->until_ms);
    int error = 0;
    socklen_t size = sizeof(error);
    if (code == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0) {
        code = -errno;
    }
    return code < 0 ? code : -error;
}

static fstrm_res dnstap_link_on_open(void *obj)
{
    struct dnstap_link *link = obj;
    int family = link->target.is_unix ? AF_UNIX : link->target.address.sa.sa_family;
    link->fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (link->fd < 0) {
        return dnstap_link_result(link, -errno);
    }
    if (!link->target.is_unix) { /* finds out about a host that is gone while nothing is sent */
        (void)setsockopt(link->fd, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
        (void)setsockopt(link->fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){30}, sizeof(int));
    }
    return dnstap_link_result(link, connect_socket(link, link->fd));
}

static fstrm_res on_close(void *obj)
{
    struct dnstap_link *link = obj;
    if (link->fd >= 0) {
        (void)close(link->fd); /* what is unsent is lost */
        link->fd = -1;
    }
    return fstrm_res_success;
}

static int64_t step_end(const struct dnstap_link *link)
{
    return link->until_ms ? link->until_ms : clock_monotonic_ms() + DNSTAP_LINK_STALL_MS;
}

static fstrm_res dnstap_link_on_read(void *obj, void *data, size_t count)
{
    struct dnstap_link *link = obj;
    uint8_t *at = data;
    int code = link->fd < 0 ? -ENOTCONN : link->code;
    while (count > 0 && code == 0) {
        ssize_t n = recv(link->fd, at, count, 0);
        if (n > 0) {
            at += n;
            count -= (size_t)n;
        } else if (n == 0) {
            code = -ECONNRESET;
        } else if (errno == EAGAIN) {
            code = dnstap_link_wait_for(link, POLLIN, step_end(link));
        } else if (errno != EINTR) {
            code = -errno;
        }
    }
    return dnstap_link_result(link, code);
}

/* Takes what was sent off the front. */
static void dnstap_link_advance(struct iovec **iov, int *count, size_t sent)
{
    while (*count > 0 && sent >= (*iov)->iov_len) {
        sent -= (*iov)->iov_len;
        (*iov)++;
        (*count)--;
    }
    if (*count > 0) {
        (*iov)->iov_base = (uint8_t *)(*iov)->iov_base + sent;
        (*iov)->iov_len -= sent;
    }
}

static int dnstap_link_send_all(const struct dnstap_link *link, struct iovec *iov, int count)
{
    int code = 0;
    while (count > 0 && code == 0) {
        const struct msghdr message = {.msg_iov = iov, .msg_iovlen = (size_t)count};
        ssize_t n = sendmsg(link->fd, &message, MSG_NOSIGNAL);
        if (n >= 0) {
            dnstap_link_advance(&iov, &count, (size_t)n);
        } else if (errno == EAGAIN) {
            code = dnstap_link_wait_for(link, POLLOUT, step_end(link));
        } else if (errno != EINTR) {
            code = -errno;
        }
    }
    return code;
}

static fstrm_res on_write(void *obj, const struct iovec *iov, int count)
{
    struct dnstap_link *link = obj;
    struct iovec pieces[2 * DNSTAP_LINK_FRAMES_MAX];
    int code = link->fd < 0 ? -ENOTCONN : link->code;
    while (count > 0 && code == 0) {
        int n = count < (int)ARRAY_LEN(pieces) ? count : (int)ARRAY_LEN(pieces);
        memcpy(pieces, iov, (size_t)n * sizeof(*pieces));
        code = dnstap_link_send_all(link, pieces, n);
        iov += n;
        count -= n;
    }
    return dnstap_link_result(link, code);
}

/* ---- Lifecycle ---- */

int dnstap_link_init(struct dnstap_link *link, const struct dnstap_target *target, struct err *err)
{
    *link = (struct dnstap_link){.target = *target, .fd = -1};
    link->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return link->wake < 0 ? err_set(err, -errno, "open an eventfd: %s", err_code_text(-errno)) : 0;
}

void dnstap_link_fini(struct dnstap_link *link)
{
    dnstap_link_close(link);
    if (link->wake >= 0) {
        (void)close(link->wake);
        link->wake = -1;
    }
}

void dnstap_link_wake(const struct dnstap_link *link)
{
    static const uint64_t one = 1;
    ssize_t n = write(link->wake, &one, sizeof(one));
    (void)n; /* full: it is awake */
}

void dnstap_link_stop(struct dnstap_link *link, int64_t until_ms)
{
    atomic_store_explicit(&link->stop_ms, until_ms, memory_order_release);
    dnstap_link_wake(link);
}

static struct fstrm_writer *new_writer(struct dnstap_link *link)
{
    struct fstrm_writer_options *options = fstrm_writer_options_init();
    struct fstrm_rdwr *socket = fstrm_rdwr_init(link);
    if (!options || !socket ||
        fstrm_writer_options_add_content_type(options, content_type, sizeof(content_type) - 1) !=
            fstrm_res_success) {
        xalloc_out_of_memory();
    }
    fstrm_rdwr_set_open(socket, dnstap_link_on_open);
    fstrm_rdwr_set_close(socket, on_close);
    fstrm_rdwr_set_read(socket, dnstap_link_on_read);
    fstrm_rdwr_set_write(socket, on_write);
    struct fstrm_writer *writer = fstrm_writer_init(options, &socket);
    fstrm_writer_options_destroy(&options);
    if (!writer) {
        xalloc_out_of_memory();
    }
    return writer;
}

static int dnstap_link_on_broken(struct dnstap_link *link, int otherwise, struct err *err)
{
    int code = link->code = link->code ? link->code : otherwise;
    (void)err_set(err, code, "%s",
                  code == -ECONNRESET ? "it closed the connection" : err_code_text(code));
    dnstap_link_close(link);
    return code;
}

int dnstap_link_open(struct dnstap_link *link, struct err *err)
{
    link->code = 0;
    link->until_ms = clock_monotonic_ms() + DNSTAP_LINK_OPEN_MS;
    link->writer = new_writer(link);
    if (fstrm_writer_open(link->writer) != fstrm_res_success) {
        return dnstap_link_on_broken(link, ERR_PROTOCOL,
                                     err); /* it does not want dnstap's messages */
    }
    link->until_ms = 0;
    return 0;
}

bool dnstap_link_is_open(const struct dnstap_link *link)
{
    return link->writer != NULL;
}

/* Closes after a failure without sending more: on_write sees the code. */
void dnstap_link_close(struct dnstap_link *link)
{
    if (link->writer) {
        link->until_ms = clock_monotonic_ms() + DNSTAP_LINK_OPEN_MS;
        (void)fstrm_writer_destroy(&link->writer); /* what it could not tell the sink is not ours */
        link->writer = NULL;
        (void)on_close(link);
        link->until_ms = 0;
    }
}

int dnstap_link_send(struct dnstap_link *link, const struct slice *frames, size_t count,
                     struct err *err)
{
    struct iovec iov[DNSTAP_LINK_FRAMES_MAX];
    for (size_t i = 0; i < count; i++) {
        iov[i] =
            (struct iovec){.iov_base = (void *)(uintptr_t)frames[i].ptr, .iov_len = frames[i].len};
    }
    return fstrm_writer_writev(link->writer, iov, (int)count) == fstrm_res_success
               ? 0
               : dnstap_link_on_broken(link, ERR_PROTOCOL, err);
}

/* Looks at the sink. It sends nothing until the end: whatever it sends, or its absence, ends the
 * connection. */
static int look_at_sink(struct dnstap_link *link, short revents, struct err *err)
{
    uint8_t byte;
    if (!revents) {
        return 0;
    }
    ssize_t n = recv(link->fd, &byte, 1, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    link->code = n > 0 ? ERR_PROTOCOL : n == 0 ? -ECONNRESET : -errno;
    return dnstap_link_on_broken(link, ERR_PROTOCOL, err);
}

int dnstap_link_rest(struct dnstap_link *link, int timeout_ms, struct err *err)
{
    struct pollfd fds[] = {{.fd = link->fd, .events = POLLIN},
                           {.fd = link->wake, .events = POLLIN}};
    uint64_t count;
    if (poll(fds, ARRAY_LEN(fds), timeout_ms) < 0) {
        return 0; /* EINTR: the caller looks around */
    }
    if (fds[1].revents) {
        ssize_t n = read(link->wake, &count, sizeof(count));
        (void)n; /* only resets it */
    }
    return link->fd < 0 ? 0 : look_at_sink(link, fds[0].revents, err);
}
