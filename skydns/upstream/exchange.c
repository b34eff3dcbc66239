#include "skydns/upstream/exchange_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/cursor.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/dnstap/dnstap.h"
#include "skydns/upstream/forwarder_counts.h"
#include "skydns/upstream/tls_pool.h"
#include "skydns/wire/response_check.h"

enum { FRAME_PREFIX = 2 };

/* A way to the server. */
struct channel {
    ev_io io; /* fd -1: not open, or a connection of tls_pool's */
    enum dnstap_protocol protocol;
    int64_t asked_ns;  /* with dnstap: Unix time of the query that has no reply yet */
    struct addr local; /* with dnstap: what it came from; not known of TLS */
};

struct exchange {
    struct exchange_config config;
    struct nameserver server;
    struct channel udp, tcp, tls;
    bool is_counted; /* in counts->tcp */
    bool without_edns;
    unsigned malformed; /* replies */
    unsigned refusals;  /* of EDNS, over UDP, that say nothing of the query asked without it, too */
    size_t sent;        /* TCP: bytes of the frame */
    struct buf received;  /* TCP: the frame so far */
    struct buf truncated; /* the UDP reply that made us switch to TCP */
    struct tls_ask ask;   /* TLS */
    size_t query_len;
    uint8_t frame[FRAME_PREFIX + UPSTREAM_PADDED_MAX]; /* the length over TCP, the query */
};

static const uint8_t *query_of(const struct exchange *x)
{
    return x->frame + FRAME_PREFIX;
}

static bool is_open(const struct channel *channel)
{
    return channel->io.fd >= 0;
}

static void close_channel(struct exchange *x, struct channel *channel)
{
    if (is_open(channel)) {
        ev_io_stop(x->config.loop, &channel->io);
        (void)close(channel->io.fd); /* unsent data does not matter */
        channel->io.fd = -1;
    }
}

static void set_events(struct exchange *x, struct channel *channel, int events)
{
    ev_io_stop(x->config.loop, &channel->io);
    ev_io_set(&channel->io, channel->io.fd, events);
    ev_io_start(x->config.loop, &channel->io);
}

/* ---- dnstap ---- */

static void show(const struct exchange *x, const struct channel *channel, enum dnstap_type type,
                 const uint8_t *message, size_t len)
{
    const struct dname *zone = x->config.zone;
    dnstap_show(x->config.dnstap,
                &(struct dnstap_event){
                    .type = type,
                    .protocol = channel->protocol,
                    .asker = &channel->local,
                    .answerer = &x->server.address,
                    .query_ns = channel->asked_ns,
                    .response_ns = type == DNSTAP_FORWARDER_RESPONSE ? dnstap_now_ns() : 0,
                    .message = slice_of(message, len),
                    .zone = zone ? slice_of(zone->wire, zone->len) : slice_of(NULL, 0),
                });
}

static void show_query(struct exchange *x, struct channel *channel)
{
    if (x->config.dnstap) {
        channel->local.len = sizeof(channel->local);
        if (getsockname(channel->io.fd, &channel->local.sa, &channel->local.len) < 0) {
            channel->local = (struct addr){.len = 0};
        }
        channel->asked_ns = dnstap_now_ns();
        show(x, channel, DNSTAP_FORWARDER_QUERY, query_of(x), x->query_len);
    }
}

static void show_reply(const struct exchange *x, const struct channel *channel,
                       const uint8_t *reply, size_t len)
{
    if (x->config.dnstap) {
        show(x, channel, DNSTAP_FORWARDER_RESPONSE, reply, len);
    }
}

/* The connection chose the id of the query when it was sent: it is shown with its reply, or when
 * nobody waits for that any more. */
static void begin_tls(struct exchange *x)
{
    x->tls.asked_ns = x->config.dnstap ? dnstap_now_ns() : 0;
}

static void show_tls_query(struct exchange *x)
{
    if (x->tls.asked_ns > 0) {
        show(x, &x->tls, DNSTAP_FORWARDER_QUERY, query_of(x), x->query_len);
    }
}

/* ---- Asking ---- */

static void strip_edns(struct exchange *x)
{
    x->without_edns = true;
    x->query_len = upstream_query_strip_edns(x->frame + FRAME_PREFIX, x->query_len);
    x->frame[0] = (uint8_t)(x->query_len >> 8);
    x->frame[1] = (uint8_t)x->query_len;
}

/* Picks the id and the capitals, which nobody can guess. False: no random bytes from the kernel. */
static bool make_query(struct exchange *x, const struct upstream_question *question)
{
    struct {
        uint16_t id;
        uint8_t capitals[DNAME_MAX / 8 + 1];
    } secret;
    if (getrandom(&secret, sizeof(secret), 0) != sizeof(secret)) {
        return false;
    }
    uint8_t *query = x->frame + FRAME_PREFIX;
    x->query_len = upstream_query_write(question, secret.id, query);
    if (nameserver_is_tls(&x->server)) {
        x->query_len = upstream_query_pad(query, x->query_len);
    }
    x->frame[0] = (uint8_t)(x->query_len >> 8);
    x->frame[1] = (uint8_t)x->query_len;
    if (x->config.without_edns) {
        strip_edns(x);
    }
    if (x->config.random_case) {
        upstream_query_mix_case(query, x->query_len, secret.capitals);
    }
    return true;
}

/* Opens a socket to the server; over UDP the query is sent at once. */
static bool open_channel(struct exchange *x, struct channel *channel)
{
    const bool over_tcp = channel == &x->tcp;
    int type = (over_tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC;
    CLEANUP_CLOSE int fd = socket(x->server.address.sa.sa_family, type, 0);
    if (fd < 0) {
        return false;
    }
    if (connect(fd, &x->server.address.sa, x->server.address.len) < 0 &&
        !(over_tcp && errno == EINPROGRESS)) {
        return false;
    }
    if (!over_tcp && send(fd, query_of(x), x->query_len, 0) != (ssize_t)x->query_len) {
        return false;
    }
    channel->io.fd = STEAL_FD(fd);
    set_events(x, channel, over_tcp ? EV_WRITE : EV_READ);
    if (!over_tcp) {
        show_query(x, channel);
    }
    return true;
}

static void end(struct exchange *x, enum exchange_outcome outcome,
                const struct parsed_response *reply)
{
    close_channel(x, &x->udp); /* the callback may need its descriptor */
    close_channel(x, &x->tcp);
    x->config.done(x->config.data, outcome, reply);
}

/* False: it is malformed, and counted as such. */
static bool end_if_sound(struct exchange *x, const uint8_t *reply, size_t len)
{
    struct parsed_response response;
    response_parse(reply, len, &response);
    const bool is_sound = response_is_sound(&response);
    x->malformed += !is_sound;
    if (is_sound) {
        end(x, EXCHANGE_REPLIED, &response);
    }
    response_parse_fini(&response);
    return is_sound;
}

/* On failure: passes on the truncated UDP reply, if any. */
static void end_broken(struct exchange *x)
{
    if (x->truncated.len == 0 || !end_if_sound(x, x->truncated.data, x->truncated.len)) {
        end(x, x->malformed > 0 ? EXCHANGE_MALFORMED : EXCHANGE_UNREACHABLE, NULL);
    }
}

static bool is_reply(const struct exchange *x, const uint8_t *bytes, size_t len)
{
    return upstream_is_reply(query_of(x), x->query_len, bytes, len, x->config.random_case) ||
           upstream_is_bare_failure(query_of(x), bytes, len);
}

static bool may_use_tcp(struct exchange *x)
{
    struct forwarder_counts *counts = x->config.counts;
    if (!counts) {
        return true;
    }
    if (counter_get(&counts->tcp) >= EXCHANGE_TCP_MAX) {
        return false;
    }
    counter_add(&counts->tcp_retries, 1);
    counter_add(&counts->tcp, 1);
    x->is_counted = true;
    return true;
}

/* TCP brings nothing. If the reply over UDP was malformed, there may still be a right one. */
static void lose_tcp(struct exchange *x)
{
    close_channel(x, &x->tcp);
    if (!is_open(&x->udp)) {
        end_broken(x);
    } else {
        x->config.doubted(x->config.data);
    }
}

static void go_on_over_tcp(struct exchange *x, const char *why, size_t len)
{
    char server[NAMESERVER_TEXT_MAX];
    log_debug(why, LOG_STR("server", nameserver_format(&x->server, server)),
              LOG_INT("bytes", (int64_t)len));
    if (!may_use_tcp(x) || !open_channel(x, &x->tcp)) {
        lose_tcp(x);
    }
}

static void take_truncated(struct exchange *x, const uint8_t *reply, size_t len)
{
    close_channel(x, &x->udp);
    buf_append(&x->truncated, reply, len);
    if (x->malformed == 0) {
        go_on_over_tcp(x, "reply is truncated, asking over TCP", len);
    } else if (!is_open(&x->tcp)) {
        end_broken(x); /* TCP brought nothing */
    }
}

/* Whether it may hold a socket for UDP beside that for TCP. */
static bool may_listen_on(const struct exchange *x)
{
    const struct forwarder_counts *counts = x->config.counts;
    return counts && counter_get(&counts->tcp) < EXCHANGE_BOTH_MAX;
}

static void take_malformed(struct exchange *x, size_t len)
{
    if (x->malformed == 1) {
        if (!may_listen_on(x)) {
            close_channel(x, &x->udp);
        }
        go_on_over_tcp(x, "reply is malformed, asking over TCP", len);
    } else if (x->malformed >= EXCHANGE_MALFORMED_MAX) {
        close_channel(x, &x->udp);
        if (!is_open(&x->tcp)) {
            end_broken(x);
        }
    }
}

static void log_without_edns(const struct exchange *x)
{
    char server[NAMESERVER_TEXT_MAX];
    log_debug("nameserver does not know EDNS, asking without",
              LOG_STR("server", nameserver_format(&x->server, server)));
}

/* For servers without EDNS: repeats the question in plain RFC 1035. A truncated reply still leads
 * to TCP. */
static void ask_without_edns(struct exchange *x)
{
    log_without_edns(x);
    strip_edns(x);
    if (send(x->udp.io.fd, query_of(x), x->query_len, 0) != (ssize_t)x->query_len) {
        end_broken(x);
    } else {
        show_query(x, &x->udp);
    }
}

/* While TCP is asked, its query stays as it is. */
static bool rejects_edns(const struct exchange *x, const uint8_t *bytes, size_t len)
{
    return !x->without_edns && !is_open(&x->tcp) &&
           upstream_is_edns_refusal(query_of(x), x->query_len, bytes, len);
}

/* A socket error (port unreachable) means that no server runs there. */
static void receive_udp(struct exchange *x)
{
    uint8_t bytes[DNS_MESSAGE_MAX];
    ssize_t n = recv(x->udp.io.fd, bytes, sizeof(bytes), 0);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        close_channel(x, &x->udp);
        if (!is_open(&x->tcp)) {
            end_broken(x);
        }
    } else if (n > 0 && rejects_edns(x, bytes, (size_t)n)) {
        show_reply(x, &x->udp, bytes, (size_t)n);
        ask_without_edns(x);
    } else if (n > 0 && x->refusals > 0 && !is_open(&x->tcp) &&
               upstream_is_edns_refusal(query_of(x), x->query_len, bytes, (size_t)n)) {
        show_reply(x, &x->udp, bytes, (size_t)n);
        x->refusals--;
    } else if (n > 0 && is_reply(x, bytes, (size_t)n)) {
        show_reply(x, &x->udp, bytes, (size_t)n);
        if (bytes[2] & DNS_FLAG_TC >> 8) {
            take_truncated(x, bytes, (size_t)n);
        } else if (!end_if_sound(x, bytes, (size_t)n)) {
            take_malformed(x, (size_t)n);
        }
    }
}

static void send_tcp(struct exchange *x)
{
    size_t frame_len = FRAME_PREFIX + x->query_len;
    ssize_t n = send(x->tcp.io.fd, x->frame + x->sent, frame_len - x->sent, MSG_NOSIGNAL);
    if (n < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            lose_tcp(x);
        }
        return;
    }
    x->sent += (size_t)n;
    if (x->sent == frame_len) {
        set_events(x, &x->tcp, EV_READ);
        show_query(x, &x->tcp);
    }
}

/* Nobody forges a reply over TCP: what it says is what the server has to say. */
static void take_tcp_reply(struct exchange *x, const uint8_t *reply, size_t len)
{
    if (!is_reply(x, reply, len)) {
        lose_tcp(x);
        return;
    }
    show_reply(x, &x->tcp, reply, len);
    if (!end_if_sound(x, reply, len)) {
        end_broken(x);
    }
}

/* The stream carries exactly one reply; anything else means a broken server. */
static void receive_tcp(struct exchange *x)
{
    uint8_t bytes[16 * 1024];
    ssize_t n = recv(x->tcp.io.fd, bytes, sizeof(bytes), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) {
        lose_tcp(x);
        return;
    }
    buf_append(&x->received, bytes, (size_t)n);
    struct reader r = reader_of(x->received.data, x->received.len);
    uint16_t len = reader_u16(&r);
    if (x->received.failed) {
        lose_tcp(x);
    } else if (!r.failed && reader_left(&r) >= len) {
        take_tcp_reply(x, x->received.data + FRAME_PREFIX, len);
    }
}

/* ---- TLS ---- */

static void on_tls_reply(void *data, const uint8_t *reply, size_t len);

/* Those who wait for nobody in particular, probes and loop checks, find out whether a nameserver
 * that failed is back. */
static bool ask_over_tls(struct exchange *x)
{
    x->ask = (struct tls_ask){
        .query = x->frame + FRAME_PREFIX,
        .len = x->query_len,
        .is_urgent = !x->config.counts,
        .done = on_tls_reply,
        .data = x,
    };
    begin_tls(x);
    return x->config.tls && tls_pool_ask(x->config.tls, &x->server, &x->ask);
}

static void on_tls_reply(void *data, const uint8_t *reply, size_t len)
{
    struct exchange *x = data;
    if (reply) {
        show_tls_query(x);
        show_reply(x, &x->tls, reply, len);
        x->tls.asked_ns = 0;
    }
    if (reply && !x->without_edns &&
        upstream_is_edns_refusal(query_of(x), x->query_len, reply, len)) {
        log_without_edns(x);
        strip_edns(x);
        if (!ask_over_tls(x)) {
            end_broken(x);
        }
    } else if (!reply || !end_if_sound(x, reply, len)) {
        end_broken(x);
    }
}

/* ---- Events ---- */

static void on_udp(struct ev_loop *loop, ev_io *io, int revents)
{
    (void)loop;
    (void)revents;
    receive_udp(io->data);
}

static void on_tcp(struct ev_loop *loop, ev_io *io, int revents)
{
    (void)loop;
    if (revents & EV_WRITE) {
        send_tcp(io->data);
    } else {
        receive_tcp(io->data);
    }
}

static void init_channel(struct exchange *x, struct channel *channel, enum dnstap_protocol protocol,
                         void (*on_io)(struct ev_loop *, ev_io *, int))
{
    channel->protocol = protocol;
    ev_init(&channel->io, on_io);
    channel->io.fd = -1;
    channel->io.data = x;
}

struct exchange *exchange_start(const struct exchange_config *config,
                                const struct upstream_question *question)
{
    bool is_tls = nameserver_is_tls(config->server);
    struct exchange *x = xcalloc(1, sizeof(*x));
    x->config = *config;
    x->server = *config->server;
    x->config.server = &x->server;
    buf_init(&x->received, FRAME_PREFIX + DNS_MESSAGE_MAX);
    buf_init(&x->truncated, DNS_MESSAGE_MAX);
    init_channel(x, &x->udp, DNSTAP_UDP, on_udp);
    init_channel(x, &x->tcp, DNSTAP_TCP, on_tcp);
    init_channel(x, &x->tls, DNSTAP_DOT, NULL);
    if (!make_query(x, question) || !(is_tls ? ask_over_tls(x) : open_channel(x, &x->udp))) {
        exchange_free(x);
        return NULL;
    }
    return x;
}

void exchange_free(struct exchange *exchange)
{
    if (exchange) {
        close_channel(exchange, &exchange->udp);
        close_channel(exchange, &exchange->tcp);
        show_tls_query(exchange);
        tls_pool_forget(&exchange->ask);
        if (exchange->is_counted) {
            counter_sub(&exchange->config.counts->tcp, 1);
        }
        buf_fini(&exchange->received);
        buf_fini(&exchange->truncated);
        free(exchange);
    }
}

bool exchange_ask_plainly(struct exchange *exchange)
{
    struct exchange *x = exchange;
    char server[NAMESERVER_TEXT_MAX];
    if (x->without_edns || !is_open(&x->udp) || is_open(&x->tcp)) {
        return false;
    }
    log_debug("no reply yet, asking without EDNS, too",
              LOG_STR("server", nameserver_format(&x->server, server)));
    x->refusals = 2; /* of the query before, and of its copy */
    for (unsigned i = 0; i < 2; i++) {
        if (i == 1) {
            strip_edns(x);
        }
        (void)!send(x->udp.io.fd, query_of(x), x->query_len, 0); /* an error shows when receiving */
        show_query(x, &x->udp);
    }
    return true;
}

bool exchange_has_heard(const struct exchange *exchange)
{
    return exchange->malformed > 0 || exchange->truncated.len > 0;
}

struct slice exchange_truncated(const struct exchange *exchange)
{
    return buf_slice(&exchange->truncated);
}
