#include "skydns/udp/udp_server.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "skydns/listen/listen_socket.h"
#include "skydns/resolver/deferred.h"

/* Bounds the drain after a stop by the most full batches that can be queued in the socket: the
 * kernel accounts at least 768 bytes per packet, and twice the buffer asked for. */
enum { DRAIN_BATCHES = 2 * UDP_RECEIVE_BUFFER / 768 / UDP_BATCH + 1 };

/* Interval at which a worker at a shared socket checks whether to stop. */
enum { SHARED_WAIT_MS = 200 };

/* Room for a time, and one IP_PKTINFO or IPV6_PKTINFO message. */
enum { CONTROL_MAX = CMSG_SPACE(sizeof(struct timespec)) + CMSG_SPACE(sizeof(struct in6_pktinfo)) };

/* Buffers of one packet. The size is not a power of two, so that the heads of the slots do not
 * share cache sets. */
struct slot {
    struct addr client;
    struct addr local;
    _Alignas(struct cmsghdr) uint8_t control[CONTROL_MAX];
    struct iovec query_iov;
    struct iovec reply_iov;
    uint8_t query[UDP_QUERY_MAX];
};

struct udp_server {
    int fd;
    bool wildcard;          /* the local address is read and set per packet */
    bool is_shared;         /* with other processes, by systemd */
    bool is_timed;          /* the next batch has times */
    unsigned batches;       /* received */
    unsigned drain_batches; /* left to receive, once stopping */
    _Atomic bool stopping;  /* apart from the flags above, which are read in one word */
    struct addr address;
    struct reply_to reply_to;
    size_t receive_buffer;
    size_t filled;        /* slots the kernel wrote to, to be rearmed */
    size_t received;      /* of them, the batch's packets */
    uint8_t *reply_bytes; /* UDP_BATCH buffers */
    struct udp_packet packets[UDP_BATCH];
    struct mmsghdr in[UDP_BATCH];
    struct mmsghdr out[UDP_BATCH];
    struct slot slots[UDP_BATCH];
};

static void prepare_slots(struct udp_server *s, size_t reply_max)
{
    /* Separates them by an odd number of cache lines, for the same reason as struct slot. */
    size_t stride = ((reply_max + 63) / 64 | 1) * 64;
    s->reply_bytes = xcalloc(UDP_BATCH, stride);
    for (size_t i = 0; i < UDP_BATCH; i++) {
        struct slot *slot = &s->slots[i];
        slot->query_iov = (struct iovec){slot->query, sizeof(slot->query)};
        slot->reply_iov.iov_base = s->reply_bytes + i * stride;
        s->packets[i] = (struct udp_packet){
            .query = slot->query,
            .client = &slot->client,
            .local = s->wildcard ? &slot->local : &s->address,
            .response.bytes = slot->reply_iov.iov_base,
        };
        struct msghdr *in = &s->in[i].msg_hdr;
        in->msg_name = &slot->client.sa;
        in->msg_namelen = sizeof(slot->client.v6);
        in->msg_iov = &slot->query_iov;
        in->msg_iovlen = 1;
    }
    s->filled = UDP_BATCH; /* to be armed, all of them */
}

static void set_receive_buffer(struct udp_server *s)
{
    int want = UDP_RECEIVE_BUFFER, got = 0;
    socklen_t len = sizeof(got);
    if (setsockopt(s->fd, SOL_SOCKET, SO_RCVBUFFORCE, &want, sizeof(want)) < 0) {
        (void)setsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &want,
                         sizeof(want)); /* as much as rmem_max allows */
    }
    if (getsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &got, &len) == 0) {
        s->receive_buffer = (size_t)got / 2; /* the kernel doubles it for its bookkeeping */
    }
}

/* Asks for local addresses on wildcard sockets only: they cost five percent. */
static int want_local_addresses(struct udp_server *s)
{
    int on = 1;
    if (s->address.sa.sa_family == AF_INET) {
        return setsockopt(s->fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on));
    }
    return setsockopt(s->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on));
}

/* Makes receiving time out: a shared socket cannot be shut down to wake its sleepers. */
static int look_up_now_and_then(struct udp_server *s)
{
    const struct timeval pause = {.tv_usec = SHARED_WAIT_MS * 1000};
    return setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &pause, sizeof(pause));
}

static int set_options(struct udp_server *s)
{
    if ((s->wildcard && want_local_addresses(s) < 0) ||
        (s->is_shared && look_up_now_and_then(s) < 0)) {
        return -1;
    }
    /* Ignore the path MTU that a forged ICMP message may claim: responses are small enough to pass
     * everywhere (RFC 9715). Kernels without the option keep their default. */
    int mtu = IP_PMTUDISC_OMIT;
    if (s->address.sa.sa_family == AF_INET) {
        (void)setsockopt(s->fd, IPPROTO_IP, IP_MTU_DISCOVER, &mtu, sizeof(mtu));
    } else {
        mtu = IPV6_PMTUDISC_OMIT;
        (void)setsockopt(s->fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &mtu, sizeof(mtu));
    }
    set_receive_buffer(s);
    return 0;
}

static bool udp_server_send_late(void *data, const struct deferred *deferred,
                                 const struct response *response)
{
    return udp_server_send_one(data, &deferred->query.client, &deferred->query.local,
                               response->bytes, response->len);
}

int udp_server_new(const struct udp_server_config *config, struct udp_server **ret_server,
                   struct err *err)
{
    struct udp_server *s = xcalloc(1, sizeof(*s));
    s->address = config->socket->address;
    s->is_shared = config->socket->is_shared;
    s->wildcard = addr_is_wildcard(&s->address);
    s->drain_batches = DRAIN_BATCHES;
    s->fd = config->socket->fd;
    if (set_options(s) < 0) {
        int code = -errno;
        udp_server_free(s);
        return listen_error("udp", &config->socket->address, code, err);
    }
    s->reply_to = (struct reply_to){.send = udp_server_send_late, .data = s};
    prepare_slots(s, config->reply_max);
    *ret_server = s;
    return 0;
}

void udp_server_close(struct udp_server *server)
{
    if (server->fd >= 0) {
        (void)close(server->fd); /* nothing was buffered */
        server->fd = -1;
    }
}

int udp_server_fd(const struct udp_server *server)
{
    return server->fd;
}

void udp_server_free(struct udp_server *server)
{
    if (server) {
        udp_server_close(server);
        free(server->reply_bytes);
        free(server);
    }
}

size_t udp_server_receive_buffer(const struct udp_server *server)
{
    return server->receive_buffer;
}

/* Takes the local address of a packet, and its time, from its control messages. */
static void udp_server_take_control(const struct udp_server *s, struct slot *slot,
                                    struct msghdr *in, int64_t *ret_received_ns)
{
    slot->local = (struct addr){.len = 0};
    for (struct cmsghdr *c = CMSG_FIRSTHDR(in); c; c = CMSG_NXTHDR(in, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec at;
            memcpy(&at, CMSG_DATA(c), sizeof(at));
            *ret_received_ns = (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
        } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
            struct in_pktinfo info;
            memcpy(&info, CMSG_DATA(c), sizeof(info));
            slot->local.v4.sin_family = AF_INET;
            slot->local.v4.sin_port = s->address.v4.sin_port;
            slot->local.v4.sin_addr = info.ipi_spec_dst; /* ours even for a broadcast */
            slot->local.len = sizeof(slot->local.v4);
        } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
            struct in6_pktinfo info;
            memcpy(&info, CMSG_DATA(c), sizeof(info));
            slot->local.v6.sin6_family = AF_INET6;
            slot->local.v6.sin6_port = s->address.v6.sin6_port;
            slot->local.v6.sin6_addr = info.ipi6_addr;
            if (IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr)) {
                slot->local.v6.sin6_scope_id = info.ipi6_ifindex;
            }
            slot->local.len = sizeof(slot->local.v6);
        }
    }
}

/* Chooses batches with times. The first one's are also what makes the kernel stamp packets from
 * then on. */
static void choose_timed(struct udp_server *s)
{
    int is_timed = s->batches++ % UDP_TIMED_BATCHES == 0;
    if (is_timed != s->is_timed &&
        setsockopt(s->fd, SOL_SOCKET, SO_TIMESTAMPNS, &is_timed, sizeof(is_timed)) == 0) {
        s->is_timed = is_timed;
        s->filled = UDP_BATCH; /* each slot needs room for control messages, or none */
    }
}

/* Makes the slots of the last batch ready for the next. */
static void udp_server_rearm(struct udp_server *s)
{
    bool has_control = s->wildcard || s->is_timed;
    for (size_t i = 0; i < s->filled; i++) {
        struct msghdr *in = &s->in[i].msg_hdr;
        in->msg_namelen = sizeof(s->slots[i].client.v6);
        in->msg_control = has_control ? s->slots[i].control : NULL;
        in->msg_controllen = has_control ? sizeof(s->slots[i].control) : 0;
    }
    s->filled = s->received = 0;
}

static bool is_stopping(struct udp_server *s)
{
    return atomic_load_explicit(&s->stopping, memory_order_acquire);
}

/* Receives a batch. 0: the server is stopped, and its shared socket is empty. */
static size_t udp_server_receive_batch(struct udp_server *s)
{
    for (;;) {
        int n = recvmmsg(s->fd, s->in, UDP_BATCH, MSG_WAITFORONE, NULL);
        if (n > 0) {
            return (size_t)n;
        }
        if (n < 0 && errno == EAGAIN) {
            if (is_stopping(s)) {
                return 0;
            }
            continue;
        }
        static struct log_limit limit = {.burst = 5};
        if (n < 0 && errno != EINTR && log_limit_pass(&limit)) {
            log_warn("receiving failed, retrying", LOG_STR("reason", err_code_text(-errno)));
        }
    }
}

/* Counts the packets of a batch during the stop. A batch received wholly after the stop that is not
 * full has emptied the socket. A socket that was shut down then returns empty messages without a
 * sender. */
static size_t udp_server_drain(struct udp_server *s, size_t received, bool wholly_after)
{
    if (wholly_after) {
        s->drain_batches = received < UDP_BATCH ? 0 : s->drain_batches - 1;
    }
    for (size_t i = 0; i < received; i++) {
        if (s->in[i].msg_hdr.msg_namelen == 0) {
            s->drain_batches = 0;
            return i;
        }
    }
    return received;
}

size_t udp_server_receive(struct udp_server *server, struct udp_packet **ret_packets)
{
    choose_timed(server);
    udp_server_rearm(server);
    if (server->drain_batches == 0) {
        return 0;
    }
    bool was_stopping = is_stopping(server);
    size_t n = server->filled = udp_server_receive_batch(server);
    if (is_stopping(server)) {
        n = udp_server_drain(server, n, was_stopping);
    }
    for (size_t i = 0; i < n; i++) {
        struct msghdr *in = &server->in[i].msg_hdr;
        struct slot *slot = &server->slots[i];
        slot->client.len = in->msg_namelen;
        server->packets[i].received_ns = 0;
        if (server->wildcard || server->is_timed) {
            udp_server_take_control(server, slot, in, &server->packets[i].received_ns);
        }
        server->packets[i].query_len = in->msg_flags & MSG_TRUNC ? 0 : server->in[i].msg_len;
        server->packets[i].response.len = 0;
    }
    server->received = n;
    *ret_packets = server->packets;
    return n;
}

static size_t put_control(uint8_t control[CONTROL_MAX], int level, int type, const void *data,
                          size_t len)
{
    struct cmsghdr head = {.cmsg_len = CMSG_LEN(len), .cmsg_level = level, .cmsg_type = type};
    memcpy(control, &head, sizeof(head));
    memcpy(control + CMSG_LEN(0), data, len);
    return CMSG_SPACE(len);
}

/* Writes the control message that sends a response from `local`; returns its length. */
static size_t put_local(uint8_t control[CONTROL_MAX], const struct addr *local)
{
    struct in_pktinfo v4 = {.ipi_spec_dst = local->v4.sin_addr};
    struct in6_pktinfo v6 = {.ipi6_addr = local->v6.sin6_addr,
                             .ipi6_ifindex = local->v6.sin6_scope_id};
    switch (local->sa.sa_family) {
    case AF_INET:
        return put_control(control, IPPROTO_IP, IP_PKTINFO, &v4, sizeof(v4));
    case AF_INET6:
        return put_control(control, IPPROTO_IPV6, IPV6_PKTINFO, &v6, sizeof(v6));
    default: /* unknown: the kernel chooses */
        return 0;
    }
}

/* Fills in the message for slot i's response. */
static void address_reply(struct udp_server *s, size_t i, struct msghdr *out)
{
    struct slot *slot = &s->slots[i];
    slot->reply_iov.iov_len = s->packets[i].response.len;
    out->msg_name = &slot->client.sa;
    out->msg_namelen = slot->client.len;
    out->msg_iov = &slot->reply_iov;
    out->msg_iovlen = 1;
    if (s->wildcard) {
        out->msg_controllen = put_local(slot->control, &slot->local);
        out->msg_control = out->msg_controllen ? slot->control : NULL;
    }
}

size_t udp_server_send(struct udp_server *server)
{
    unsigned count = 0, sent = 0;
    size_t failed = 0;
    for (size_t i = 0; i < server->received; i++) {
        if (server->packets[i].response.len) {
            address_reply(server, i, &server->out[count++].msg_hdr);
            server->packets[i].response.len = 0; /* sent once */
        }
    }
    while (sent < count) {
        int n = sendmmsg(server->fd, server->out + sent, count - sent, 0);
        if (n > 0) {
            sent += (unsigned)n;
        } else if (errno != EINTR) { /* the first one cannot be sent: no route, filtered */
            sent++;
            failed++;
        }
    }
    return failed;
}

bool udp_server_send_one(const struct udp_server *server, const struct addr *client,
                         const struct addr *local, const uint8_t *reply, size_t len)
{
    _Alignas(struct cmsghdr) uint8_t control[CONTROL_MAX] = {0};
    struct addr to = *client;
    struct iovec iov = {.iov_len = len};
    memcpy(&iov.iov_base, &reply, sizeof(reply)); /* sendmsg writes nothing; iovec is not const */
    struct msghdr out = {
        .msg_name = &to.sa, .msg_namelen = to.len, .msg_iov = &iov, .msg_iovlen = 1};
    if (server->wildcard) {
        out.msg_controllen = put_local(control, local);
        out.msg_control = out.msg_controllen ? control : NULL;
    }
    ssize_t n;
    do {
        n = sendmsg(server->fd, &out, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)len;
}

const struct reply_to *udp_server_reply_to(const struct udp_server *server)
{
    return &server->reply_to;
}

void udp_server_stop(struct udp_server *server)
{
    atomic_store_explicit(&server->stopping, true, memory_order_release);
    if (server->is_shared) {
        return;
    }
    /* Returns ENOTCONN for an unconnected socket, but wakes its receivers. */
    (void)shutdown(server->fd, SHUT_RD);
}
