#include "skydns/upstream/tls_link_internal.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/client_net.h"
#include "common/base/timer.h"
#include "common/tls/tls_client.h"
#include "common/tls/tls_session.h"

/* Reads up to four times 16 KiB, a TLS record, in one turn of the loop: other connections need
 * their turns, too. */
enum { READ_SIZE = 16 * 1024, READS_MAX = 4 };

static void tls_link_watch(struct tls_link *link, int events)
{
    if ((link->io.events & (EV_READ | EV_WRITE)) != events || !ev_is_active(&link->io)) {
        ev_io_stop(link->config.loop, &link->io);
        ev_io_set(&link->io, link->io.fd, events);
        ev_io_start(link->config.loop, &link->io);
    }
}

void tls_link_end(struct tls_link *link, const struct err *err)
{
    if (!link->is_ending) {
        link->is_ending = true;
        link->err = err ? *err : (struct err){0};
        ev_timer_stop(link->config.loop, &link->timer);
        ev_feed_event(link->config.loop, &link->io, EV_CUSTOM);
    }
}

static void end_with(struct tls_link *link, int code, const char *what)
{
    struct err err;
    (void)err_set(&err, code, "%s: %s", what, err_code_text(code));
    tls_link_end(link, &err);
}

/* ---- The handshake ---- */

static void tls_link_step(struct tls_link *link)
{
    ev_io_stop(link->config.loop, &link->io);
    link->state = TLS_LINK_SHAKING_OUT;
    tls_handshakes_push(link->config.handshakes, &link->job);
}

static void begin_handshake(struct tls_link *link)
{
    int code = 0;
    socklen_t size = sizeof(code);
    char name[INET6_ADDRSTRLEN];
    if (getsockopt(link->io.fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0) {
        code = errno;
    }
    if (code != 0) {
        end_with(link, -code, "connect");
        return;
    }
    link->session = tls_session_connect(link->config.client, link->io.fd,
                                        nameserver_certificate_name(link->config.server, name),
                                        "dot", *link->config.ticket);
    link->job = (struct tls_handshake_job){
        .turn.net = client_net_of(&link->config.server->address),
        .session = link->session,
        .fd = link->io.fd,
    };
    tls_link_step(link);
}

void tls_link_shaken(struct tls_handshake_job *job)
{
    struct tls_link *link =
        (struct tls_link *)(void *)((char *)job - offsetof(struct tls_link, job));
    link->state = TLS_LINK_SHAKING;
    if (link->is_ending) {
        ev_feed_event(link->config.loop, &link->io, EV_CUSTOM);
    } else if (job->err.code != 0) {
        tls_link_end(link, &job->err);
    } else if (job->want != TLS_WANT_NOTHING) {
        tls_link_watch(link, job->want == TLS_WANT_WRITE ? EV_WRITE : EV_READ);
    } else {
        ev_timer_stop(link->config.loop, &link->timer);
        link->state = TLS_LINK_OPEN;
        tls_link_watch(link, EV_READ);
        tls_pool_on_opened(link->config.user);
    }
}

/* ---- Messages ---- */

bool tls_link_has_room(const struct tls_link *link)
{
    return link->state == TLS_LINK_OPEN && !link->is_ending &&
           link->unsent.len < TLS_LINK_UNSENT_MAX;
}

void tls_link_send(struct tls_link *link, const uint8_t *message, size_t len)
{
    buf_append_u16(&link->unsent, (uint16_t)len);
    buf_append(&link->unsent, message, len);
    ev_feed_event(link->config.loop, &link->io, EV_WRITE);
}

static void tls_link_send_some(struct tls_link *link)
{
    ssize_t n = 1;
    while (link->unsent.len > 0 && n > 0) {
        n = tls_session_send(link->session, link->unsent.data, link->unsent.len);
        if (n > 0) {
            buf_consume(&link->unsent, (size_t)n);
        } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
            end_with(link, -errno, "send");
            return;
        }
    }
    if (link->unsent.len == 0) { /* an idle connection holds no memory */
        buf_fini(&link->unsent);
        buf_init(&link->unsent, TLS_LINK_UNSENT_MAX + 2 + UINT16_MAX);
    }
    tls_link_watch(link, link->unsent.len > 0 ? EV_READ | EV_WRITE : EV_READ);
}

static bool tls_link_on_message(void *data, const uint8_t *message, size_t len)
{
    struct tls_link *link = data;
    tls_pool_on_message(link->config.user, message, len);
    return !link->is_ending;
}

static void tls_link_receive(struct tls_link *link)
{
    uint8_t bytes[READ_SIZE];
    for (unsigned i = 0; i < READS_MAX && !link->is_ending; i++) {
        ssize_t n = tls_session_recv(link->session, bytes, sizeof(bytes));
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (n < 0) {
            end_with(link, -errno, "receive");
        } else if (n == 0) {
            struct err err;
            (void)err_set(&err, ERR_UNAVAILABLE, "the upstream closed the connection");
            tls_link_end(link, &err);
        } else {
            (void)frame_reader_take(&link->reader, bytes, (size_t)n, tls_link_on_message, link);
        }
    }
    if (!link->is_ending && tls_session_pending(link->session)) {
        ev_feed_event(link->config.loop, &link->io, EV_READ);
    }
}

/* ---- Events ---- */

static void tls_link_on_io(struct ev_loop *loop, ev_io *io, int revents)
{
    struct tls_link *link = io->data;
    (void)loop;
    switch (link->is_ending ? TLS_LINK_SHAKING_OUT : link->state) {
    case TLS_LINK_CONNECTING:
        begin_handshake(link);
        break;
    case TLS_LINK_SHAKING:
        tls_link_step(link);
        break;
    case TLS_LINK_SHAKING_OUT:
        break;
    case TLS_LINK_OPEN:
        if (revents & EV_WRITE) {
            tls_link_send_some(link);
        }
        if ((revents & EV_READ) && !link->is_ending) {
            tls_link_receive(link);
        }
        break;
    }
    if (link->is_ending && link->state != TLS_LINK_SHAKING_OUT) {
        ev_io_stop(link->config.loop, &link->io);
        tls_pool_on_ended(link->config.user, &link->err);
    }
}

static void tls_link_on_timer(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct tls_link *link = timer->data;
    struct err err;
    if (link->state == TLS_LINK_OPEN) {
        tls_link_end(link, NULL);
    } else {
        (void)err_set(&err, ERR_TIMEOUT, "no TLS connection within %d s",
                      TLS_LINK_CONNECT_MS / 1000);
        tls_link_end(link, &err);
    }
}

void tls_link_set_idle(struct tls_link *link, double idle_s)
{
    if (idle_s < 0 || link->is_ending) {
        ev_timer_stop(link->config.loop, &link->timer);
    } else {
        timer_arm(link->config.loop, &link->timer, idle_s);
    }
}

/* ---- Setup and teardown ---- */

/* Begins to connect. Returns 0 or -errno. */
static int begin_connect(struct tls_link *link)
{
    static const int on = 1;
    const struct addr *address = &link->config.server->address;
    int fd = socket(address->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -errno;
    }
    link->io.fd = fd;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* else only slower */
    return connect(fd, &address->sa, address->len) < 0 && errno != EINPROGRESS ? -errno : 0;
}

void tls_link_init(struct tls_link *link, const struct tls_link_config *config)
{
    *link = (struct tls_link){.config = *config};
    frame_reader_init(&link->reader);
    buf_init(&link->unsent, TLS_LINK_UNSENT_MAX + 2 + UINT16_MAX);
    ev_init(&link->io, tls_link_on_io);
    link->io.fd = -1;
    link->io.data = link;
    timer_init(&link->timer, tls_link_on_timer, link);
    int r = begin_connect(link);
    if (r < 0) {
        end_with(link, r, "connect");
        return;
    }
    tls_link_watch(link, EV_WRITE);
    timer_arm_ms(config->loop, &link->timer, TLS_LINK_CONNECT_MS);
}

void tls_link_fini(struct tls_link *link)
{
    ev_io_stop(link->config.loop, &link->io);
    ev_timer_stop(link->config.loop, &link->timer);
    tls_session_free(link->session);
    if (link->io.fd >= 0) {
        (void)close(link->io.fd); /* unsent data does not matter */
    }
    frame_reader_fini(&link->reader);
    buf_fini(&link->unsent);
}
