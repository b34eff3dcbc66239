#include "skydns/handover/handover_offer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/attributes.h"
#include "common/base/log.h"
#include "common/base/sockets.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"

/* The other end of a connection. */
struct handover_peer {
    struct handover_offer *offer;
    ev_io io; /* fd -1: none */
    pid_t process;
};

static const double shortage_s = 0.1;

struct handover_offer {
    struct handover_offer_config config;
    uint8_t secret[HANDOVER_SECRET_SIZE];
    ev_io accepting;
    struct handover_peer guest;  /* has not said the secret yet */
    struct handover_peer joined; /* has the sockets */
    ev_timer hello_end;          /* of the guest */
    ev_timer shortage_end;       /* while no descriptor is left for a guest */
    uint64_t refused;
    bool is_taken;
};

/* ---- Peers ---- */

static void handover_peer_close(struct handover_peer *peer)
{
    if (peer->io.fd >= 0) {
        ev_io_stop(peer->offer->config.loop, &peer->io);
        (void)close(peer->io.fd); /* nothing was buffered */
        peer->io.fd = -1;
    }
}

/* Sends the message, with descriptors beside it in `control`. */
static bool handover_peer_send(const struct handover_peer *peer,
                               const struct handover_message *message, void *control,
                               size_t control_len)
{
    uint8_t bytes[HANDOVER_MESSAGE_MAX];
    struct iovec iov = {bytes, handover_message_write(message, bytes)};
    const struct msghdr out = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = control_len};
    return sendmsg(peer->io.fd, &out, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)iov.iov_len;
}

static void handover_peer_refuse(struct handover_peer *peer, enum handover_refusal refusal)
{
    const struct handover_message message = {.type = HANDOVER_REFUSED, .refusal = refusal};
    (void)handover_peer_send(peer, &message, NULL, 0); /* else it sees the end */
    handover_peer_close(peer);
}

/* Logs and counts a peer without a right to the sockets. */
static void refuse_stranger(struct handover_peer *peer, enum handover_refusal refusal,
                            const char *why)
{
    static struct log_limit limit = {.burst = 5};
    peer->offer->refused++;
    if (log_limit_pass(&limit)) {
        log_warn("handover refused", LOG_INT("pid", peer->process), LOG_STR("reason", why));
    }
    handover_peer_refuse(peer, refusal);
}

/* ---- Messages ---- */

/* Gives the peer the sockets. Returns false if its end does not take them. */
static bool send_sockets(const struct handover_peer *peer)
{
    _Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(PASSED_SOCKETS_MAX * sizeof(int))] = {0};
    const struct passed_sockets *sockets = peer->offer->config.sockets;
    struct handover_message message = {.type = HANDOVER_SOCKETS, .sockets.count = sockets->count};
    struct cmsghdr head = {.cmsg_level = SOL_SOCKET,
                           .cmsg_type = SCM_RIGHTS,
                           .cmsg_len = CMSG_LEN(sockets->count * sizeof(int))};
    memcpy(control, &head, sizeof(head));
    for (size_t i = 0; i < sockets->count; i++) {
        message.sockets.codes[i] = sockets->items[i].code;
        memcpy(control + CMSG_LEN(0) + i * sizeof(int), &sockets->items[i].fd, sizeof(int));
    }
    return handover_peer_send(peer, &message, control, CMSG_SPACE(sockets->count * sizeof(int)));
}

static void on_joined(struct ev_loop *loop, ev_io *io, int revents);

/* Makes the guest the one that takes over. */
static void admit_guest(struct handover_offer *o)
{
    if (o->joined.io.fd >= 0) {
        handover_peer_refuse(&o->joined, HANDOVER_REFUSED_REPLACED);
    }
    if (!send_sockets(&o->guest)) {
        handover_peer_close(&o->guest);
        return;
    }
    log_info("another skydns is about to take over", LOG_INT("pid", o->guest.process));
    ev_io_stop(o->config.loop, &o->guest.io);
    ev_io_init(&o->joined.io, on_joined, o->guest.io.fd, EV_READ);
    ev_io_start(o->config.loop, &o->joined.io);
    o->joined.process = o->guest.process;
    o->guest.io.fd = -1;
}

/* Reads a message. Returns 0, ERR_SYNTAX, or -errno; -ECONNRESET: the peer has ended. */
static int handover_peer_read(const struct handover_peer *peer, struct handover_message *message)
{
    uint8_t bytes[HANDOVER_MESSAGE_MAX + 1]; /* without room for control: descriptors are closed */
    ssize_t n = recv(peer->io.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    return n > 0    ? handover_message_read(slice_of(bytes, (size_t)n), message)
           : n == 0 ? -ECONNRESET
                    : -errno;
}

/* Takes the same time for every wrong one. */
static bool is_secret(const struct handover_offer *o, const uint8_t said[HANDOVER_SECRET_SIZE])
{
    uint8_t differs = 0;
    for (size_t i = 0; i < sizeof(o->secret); i++) {
        differs |= o->secret[i] ^ said[i];
    }
    return differs == 0;
}

static void on_hello(struct ev_loop *loop, ev_io *io, int revents UNUSED)
{
    struct handover_peer *peer = io->data;
    struct handover_offer *o = peer->offer;
    struct handover_message message;
    int r = handover_peer_read(peer, &message);
    if (r == -EAGAIN || r == -EINTR) {
        return;
    }
    ev_timer_stop(loop, &o->hello_end);
    if (r < 0 && r != ERR_SYNTAX) {
        handover_peer_close(peer);
    } else if (r == ERR_SYNTAX || message.type != HANDOVER_HELLO) {
        refuse_stranger(peer, HANDOVER_REFUSED_SECRET, "not a message of this version");
    } else if (!is_secret(o, message.secret)) {
        refuse_stranger(peer, HANDOVER_REFUSED_SECRET, "wrong secret");
    } else if (o->is_taken) {
        handover_peer_refuse(peer, HANDOVER_REFUSED_LEAVING);
    } else {
        admit_guest(o);
    }
}

static void on_joined(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
    struct handover_peer *peer = io->data;
    struct handover_offer *o = peer->offer;
    struct handover_message message;
    int r = handover_peer_read(peer, &message);
    if (r == -EAGAIN || r == -EINTR) {
        return;
    }
    if (r == 0 && message.type == HANDOVER_SERVING) {
        handover_peer_close(peer);
        o->is_taken = true;
        o->config.taken(o->config.data, peer->process);
        return;
    }
    log_warn("the skydns that was about to take over has failed, going on",
             LOG_INT("pid", peer->process));
    handover_peer_close(peer);
}

/* ---- Connections ---- */

static void on_hello_end(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct handover_offer *o = timer->data;
    handover_peer_close(&o->guest);
}

static void on_shortage_end(struct ev_loop *loop, ev_timer *timer, int revents UNUSED)
{
    struct handover_offer *o = timer->data;
    ev_io_start(loop, &o->accepting);
}

/* The newest guest replaces a silent one. */
static void on_guest(struct ev_loop *loop, ev_io *io, int revents UNUSED)
{
    struct handover_offer *o = io->data;
    int fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    uid_t user;
    if (fd < 0) {
        if (err_is_exhaustion(-errno)) { /* else it would be tried without a pause */
            ev_io_stop(loop, &o->accepting);
            timer_arm(loop, &o->shortage_end, shortage_s);
        }
        return;
    }
    handover_peer_close(&o->guest);
    ev_timer_stop(loop, &o->hello_end);
    ev_io_set(&o->guest.io, fd, EV_READ);
    if (!unix_socket_peer(fd, &user, &o->guest.process) || (user != geteuid() && user != 0)) {
        refuse_stranger(&o->guest, HANDOVER_REFUSED_USER, "another user");
        return;
    }
    ev_io_start(loop, &o->guest.io);
    timer_arm(loop, &o->hello_end, HANDOVER_HELLO_S);
}

/* ---- Life ---- */

static void handover_peer_init(struct handover_peer *peer, struct handover_offer *offer)
{
    peer->offer = offer;
    ev_io_init(&peer->io, on_hello, -1, EV_READ);
    peer->io.data = peer;
}

int handover_offer_new(const struct handover_offer_config *config,
                       struct handover_offer **ret_offer, struct err *err)
{
    struct handover_offer *o = xcalloc(1, sizeof(*o));
    o->config = *config;
    int fd = -1;
    int r = handover_place_make_key(config->place, o->secret, err);
    if (r == 0) {
        fd = unix_socket_listen(config->place->socket, SOCK_SEQPACKET, 0600, err);
        r = fd < 0 ? err_wrap(err, fd, "flag -reuse-port") : 0;
    }
    if (r < 0) {
        free(o);
        return r;
    }
    ev_io_init(&o->accepting, on_guest, fd, EV_READ);
    o->accepting.data = o;
    ev_io_start(config->loop, &o->accepting);
    timer_init(&o->hello_end, on_hello_end, o);
    timer_init(&o->shortage_end, on_shortage_end, o);
    handover_peer_init(&o->guest, o);
    handover_peer_init(&o->joined, o);
    *ret_offer = o;
    return 0;
}

void handover_offer_free(struct handover_offer *offer)
{
    if (!offer) {
        return;
    }
    ev_io_stop(offer->config.loop, &offer->accepting);
    (void)close(offer->accepting.fd); /* nothing was buffered */
    ev_timer_stop(offer->config.loop, &offer->hello_end);
    ev_timer_stop(offer->config.loop, &offer->shortage_end);
    handover_peer_close(&offer->guest);
    handover_peer_close(&offer->joined);
    explicit_bzero(offer->secret, sizeof(offer->secret));
    free(offer);
}

uint64_t handover_offer_refused(const struct handover_offer *offer)
{
    return offer ? offer->refused : 0;
}
