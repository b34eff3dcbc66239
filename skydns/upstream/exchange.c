#include "skydns/upstream/exchange_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/cursor.h"
#include "common/base/err.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/dns/dns.h"
#include "skydns/upstream/exchange_channel_internal.h"
#include "skydns/upstream/forwarder_counts.h"
#include "skydns/upstream/tls_pool.h"
#include "skydns/wire/response_check.h"

enum { FRAME_PREFIX = 2 };

struct exchange {
    struct exchange_config config;
    struct nameserver server;
    struct exchange_channel udp, tcp, tls;
    bool has_place;    /* over TCP */
    bool is_listening; /* to UDP as well, with a place for that */
    bool without_edns;
    unsigned malformed;   /* responses */
    unsigned wrong_ids;   /* of responses over UDP */
    bool was_lost;        /* ICMP said that the server is unreachable */
    unsigned refusals;    /* refusals of EDNS over UDP that do not count */
    size_t sent;          /* TCP: bytes of the frame */
    struct buf received;  /* TCP: the frame so far */
    struct buf truncated; /* the UDP response that made us switch to TCP */
    struct tls_ask ask;   /* TLS */
    size_t query_len;
    uint8_t frame[FRAME_PREFIX + UPSTREAM_PADDED_MAX]; /* the length over TCP, then the query */
};

static const uint8_t *exchange_query_of(const struct exchange *x)
{
    return x->frame + FRAME_PREFIX;
}

static struct slice query_slice(const struct exchange *x)
{
    return slice_of(exchange_query_of(x), x->query_len);
}

/* ---- Sending ---- */

static void strip_edns(struct exchange *x)
{
    x->without_edns = true;
    x->query_len = upstream_query_strip_edns(x->frame + FRAME_PREFIX, x->query_len);
    x->frame[0] = (uint8_t)(x->query_len >> 8);
    x->frame[1] = (uint8_t)x->query_len;
}

/* Makes the query with a random id and random capitals, which nobody can guess. Returns false when
 * the kernel gives no random bytes. */
static bool exchange_make_query(struct exchange *x, const struct upstream_question *question)
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

/* Opens a socket to the server. Over UDP it sends the query at once. Returns 0, or -errno. */
static int open_channel(struct exchange *x, struct exchange_channel *channel)
{
    const bool over_tcp = channel == &x->tcp;
    int r = exchange_channel_open(channel);
    if (r == 0 && !over_tcp) {
        r = exchange_channel_send(channel, query_slice(x));
    }
    if (r < 0) {
        exchange_channel_close(channel);
        return r;
    }
    exchange_channel_watch(channel, over_tcp ? EV_WRITE : EV_READ);
    if (!over_tcp) {
        exchange_channel_show_query(channel, query_slice(x));
    }
    return 0;
}

static void close_sockets(struct exchange *x)
{
    exchange_channel_close(&x->udp);
    exchange_channel_close(&x->tcp);
    if (x->has_place) {
        x->has_place = false;
        tcp_places_return(x->config.places, x->config.zone_tcp, x->config.client);
    }
    if (x->is_listening) {
        x->is_listening = false;
        tcp_places_unlisten(x->config.places, x->config.zone_tcp, x->config.client);
    }
}

static void exchange_end(struct exchange *x, enum exchange_outcome outcome,
                         struct parsed_response *reply)
{
    close_sockets(x); /* the callback may need the descriptors, and may free x */
    x->config.done(x->config.data, outcome, reply);
}

/* Ends the exchange with a sound response. Returns false when it is malformed, and counts it. */
static bool end_if_sound(struct exchange *x, const uint8_t *reply, size_t len)
{
    struct parsed_response response;
    response_parse(reply, len, &response);
    const bool is_sound = response_is_sound(&response);
    x->malformed += !is_sound;
    if (is_sound) {
        exchange_end(x, EXCHANGE_REPLIED, &response);
    }
    response_parse_fini(&response);
    return is_sound;
}

/* Ends a failed exchange; passes on the truncated UDP response, if any. */
static void end_broken(struct exchange *x)
{
    if (x->truncated.len == 0 || !end_if_sound(x, x->truncated.data, x->truncated.len)) {
        exchange_end(x, exchange_has_heard(x) ? EXCHANGE_MALFORMED : EXCHANGE_UNREACHABLE, NULL);
    }
}

static bool exchange_is_reply(const struct exchange *x, const uint8_t *bytes, size_t len)
{
    return upstream_is_reply(exchange_query_of(x), x->query_len, bytes, len,
                             x->config.random_case) ||
           upstream_is_bare_failure(exchange_query_of(x), bytes, len);
}

static bool may_use_tcp(struct exchange *x)
{
    const struct exchange_config *config = &x->config;
    x->has_place =
        config->places && tcp_places_take(config->places, config->zone_tcp, config->client);
    return x->has_place || !config->places;
}

/* Gives up TCP. If the UDP response was malformed, a right one may still come. */
static void lose_tcp(struct exchange *x)
{
    exchange_channel_close(&x->tcp);
    if (!exchange_channel_is_open(&x->udp)) {
        end_broken(x);
    } else {
        x->config.doubted(x->config.data, EXCHANGE_MALFORMED);
    }
}

static void go_on_over_tcp(struct exchange *x, const char *why, size_t len)
{
    log_debug(why, LOG_SERVER(&x->server), LOG_INT("bytes", (int64_t)len));
    if (!may_use_tcp(x)) {
        lose_tcp(x);
        return;
    }
    if (x->has_place) {
        counter_add(&x->config.places->counts->tcp_retries, 1);
    }
    if (open_channel(x, &x->tcp) < 0) {
        lose_tcp(x);
    }
}

static void take_truncated(struct exchange *x, const uint8_t *reply, size_t len)
{
    exchange_channel_close(&x->udp);
    buf_append(&x->truncated, reply, len);
    if (x->malformed == 0) {
        go_on_over_tcp(x, "response is truncated, retrying over TCP", len);
    } else if (!exchange_channel_is_open(&x->tcp)) {
        end_broken(x); /* TCP brought nothing */
    }
}

/* Returns whether the exchange may hold a UDP socket beside its TCP socket. */
static bool may_listen_on(struct exchange *x)
{
    const struct exchange_config *config = &x->config;
    x->is_listening =
        config->places && tcp_places_listen(config->places, config->zone_tcp, config->client);
    return x->is_listening;
}

static void take_malformed(struct exchange *x, size_t len)
{
    if (x->malformed == 1) {
        if (!may_listen_on(x)) {
            exchange_channel_close(&x->udp);
        }
        go_on_over_tcp(x, "response is malformed, retrying over TCP", len);
    } else if (x->malformed >= EXCHANGE_MALFORMED_MAX) {
        exchange_channel_close(&x->udp);
        if (!exchange_channel_is_open(&x->tcp)) {
            end_broken(x);
        }
    }
}

static void log_without_edns(const struct exchange *x)
{
    log_debug("upstream does not know EDNS, retrying without it", LOG_SERVER(&x->server));
}

/* Repeats the question in plain RFC 1035, for servers without EDNS. A truncated response still
 * leads to TCP. */
static void ask_without_edns(struct exchange *x)
{
    log_without_edns(x);
    strip_edns(x);
    if (exchange_channel_send(&x->udp, query_slice(x)) < 0) {
        end_broken(x);
    } else {
        exchange_channel_show_query(&x->udp, query_slice(x));
    }
}

/* Returns whether the response refuses EDNS. While TCP is in use, its query stays as it is. */
static bool rejects_edns(const struct exchange *x, const uint8_t *bytes, size_t len)
{
    return !x->without_edns && !exchange_channel_is_open(&x->tcp) &&
           upstream_is_edns_refusal(exchange_query_of(x), x->query_len, bytes, len);
}

/* Reports an ICMP error: another server should be asked, but this one may be there, so the socket
 * goes on listening. Probes and loop checks wait as for a silent server. */
static void take_error(struct exchange *x)
{
    if (x->config.doubted && !x->was_lost && !exchange_has_heard(x)) {
        x->was_lost = true;
        x->config.doubted(x->config.data, EXCHANGE_UNREACHABLE);
    }
}

static void take_wrong_id(struct exchange *x, size_t len)
{
    if (++x->wrong_ids < EXCHANGE_WRONG_IDS_MAX) {
        return;
    }
    exchange_channel_close(&x->udp);
    if (!exchange_channel_is_open(&x->tcp) && x->malformed == 0) {
        go_on_over_tcp(x, "responses with wrong ids, retrying over TCP", len);
    } else if (!exchange_channel_is_open(&x->tcp)) {
        end_broken(x); /* TCP brought nothing */
    }
}

static void receive_udp(struct exchange *x)
{
    uint8_t bytes[DNS_MESSAGE_MAX];
    ssize_t n = recv(x->udp.io.fd, bytes, sizeof(bytes), 0);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        take_error(x);
    } else if (n > 0 && rejects_edns(x, bytes, (size_t)n)) {
        exchange_channel_show_reply(&x->udp, slice_of(bytes, (size_t)n));
        ask_without_edns(x);
    } else if (n > 0 && x->refusals > 0 && !exchange_channel_is_open(&x->tcp) &&
               upstream_is_edns_refusal(exchange_query_of(x), x->query_len, bytes, (size_t)n)) {
        exchange_channel_show_reply(&x->udp, slice_of(bytes, (size_t)n));
        x->refusals--;
    } else if (n > 0 && exchange_is_reply(x, bytes, (size_t)n)) {
        exchange_channel_show_reply(&x->udp, slice_of(bytes, (size_t)n));
        if (bytes[2] & DNS_FLAG_TC >> 8) {
            take_truncated(x, bytes, (size_t)n);
        } else if (!end_if_sound(x, bytes, (size_t)n)) {
            take_malformed(x, (size_t)n);
        }
    } else if (n > 0 &&
               upstream_has_wrong_id(exchange_query_of(x), x->query_len, bytes, (size_t)n)) {
        take_wrong_id(x, (size_t)n);
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
        exchange_channel_watch(&x->tcp, EV_READ);
        exchange_channel_show_query(&x->tcp, query_slice(x));
    }
}

/* Repeats the question on another connection of a server for TCP alone. */
static void ask_over_tcp_without_edns(struct exchange *x)
{
    log_without_edns(x);
    strip_edns(x);
    exchange_channel_close(&x->tcp);
    x->sent = 0;
    buf_clear(&x->received);
    if (open_channel(x, &x->tcp) < 0) {
        end_broken(x);
    }
}

/* Takes a response over TCP. Nobody forges one, so it is the server's own. */
static void take_tcp_reply(struct exchange *x, const uint8_t *reply, size_t len)
{
    if (x->server.is_tcp_only && !x->without_edns &&
        upstream_is_edns_refusal(exchange_query_of(x), x->query_len, reply, len)) {
        exchange_channel_show_reply(&x->tcp, slice_of(reply, len));
        ask_over_tcp_without_edns(x);
        return;
    }
    if (!exchange_is_reply(x, reply, len)) {
        lose_tcp(x);
        return;
    }
    exchange_channel_show_reply(&x->tcp, slice_of(reply, len));
    if (!end_if_sound(x, reply, len)) {
        end_broken(x);
    }
}

/* Reads the stream, which carries exactly one response; anything else means a broken server. */
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

/* Sends the query over TLS; REPLIED: it is sent. Probes and loop checks find out whether a failed
 * upstream is back, so they do not wait for its backoff. */
static enum exchange_outcome ask_over_tls(struct exchange *x)
{
    x->ask = (struct tls_ask){
        .query = x->frame + FRAME_PREFIX,
        .len = x->query_len,
        .is_urgent = !x->config.places,
        .client = x->config.client ? *x->config.client : (struct addr){.len = 0},
        .zone = x->config.zone_tls,
        .done = on_tls_reply,
        .data = x,
    };
    exchange_channel_note_query(&x->tls);
    enum tls_pool_start start = TLS_POOL_FAILING;
    if (x->config.tls) {
        start = tls_pool_ask(x->config.tls, &x->server, &x->ask);
    }
    return start == TLS_POOL_ASKED  ? EXCHANGE_REPLIED
           : start == TLS_POOL_FULL ? EXCHANGE_STARVED
                                    : EXCHANGE_UNREACHABLE;
}

static void on_tls_reply(void *data, const uint8_t *reply, size_t len)
{
    struct exchange *x = data;
    if (reply) {
        exchange_channel_show_noted(&x->tls, query_slice(x));
        exchange_channel_show_reply(&x->tls, slice_of(reply, len));
        x->tls.asked_ns = 0;
    }
    if (reply && !x->without_edns &&
        upstream_is_edns_refusal(exchange_query_of(x), x->query_len, reply, len)) {
        log_without_edns(x);
        strip_edns(x);
        const enum exchange_outcome outcome = ask_over_tls(x);
        if (outcome != EXCHANGE_REPLIED) {
            exchange_end(x, outcome, NULL);
        }
    } else if (!reply && x->ask.is_starved) {
        exchange_end(x, EXCHANGE_STARVED, NULL);
    } else if (!reply || !end_if_sound(x, reply, len)) {
        end_broken(x);
    }
}

/* ---- Events ---- */

static void on_udp(struct ev_loop *loop UNUSED, ev_io *io, int revents UNUSED)
{
    receive_udp(io->data);
}

static void on_tcp(struct ev_loop *loop UNUSED, ev_io *io, int revents)
{
    if (revents & EV_WRITE) {
        send_tcp(io->data);
    } else {
        receive_tcp(io->data);
    }
}

static void init_channels(struct exchange *x)
{
    const struct exchange_channel_config config = {
        .loop = x->config.loop,
        .server = &x->server.address,
        .dnstap = x->config.dnstap,
        .zone = x->config.zone,
    };
    exchange_channel_init(&x->udp, &config, DNSTAP_UDP, on_udp, x);
    exchange_channel_init(&x->tcp, &config, DNSTAP_TCP, on_tcp, x);
    exchange_channel_init(&x->tls, &config, DNSTAP_DOT, NULL, x);
}

/* Starts the exchange; REPLIED: it is under way. */
static enum exchange_outcome begin_asking(struct exchange *x)
{
    if (nameserver_is_tls(&x->server)) {
        return ask_over_tls(x);
    }
    if (x->server.is_tcp_only && !may_use_tcp(x)) {
        return EXCHANGE_STARVED;
    }
    int r = open_channel(x, x->server.is_tcp_only ? &x->tcp : &x->udp);
    return r == 0 ? EXCHANGE_REPLIED : err_is_shortage(r) ? EXCHANGE_STARVED : EXCHANGE_UNREACHABLE;
}

struct exchange *exchange_start(const struct exchange_config *config,
                                const struct upstream_question *question,
                                enum exchange_outcome *ret_outcome)
{
    struct exchange *x = xcalloc(1, sizeof(*x));
    x->config = *config;
    x->server = *config->server;
    x->config.server = &x->server;
    buf_init(&x->received, FRAME_PREFIX + DNS_MESSAGE_MAX);
    buf_init(&x->truncated, DNS_MESSAGE_MAX);
    init_channels(x);
    *ret_outcome = exchange_make_query(x, question) ? begin_asking(x) : EXCHANGE_STARVED;
    if (*ret_outcome != EXCHANGE_REPLIED) {
        exchange_free(x);
        return NULL;
    }
    return x;
}

void exchange_free(struct exchange *exchange)
{
    if (exchange) {
        close_sockets(exchange);
        exchange_channel_show_noted(&exchange->tls, query_slice(exchange));
        tls_pool_forget(&exchange->ask);
        buf_fini(&exchange->received);
        buf_fini(&exchange->truncated);
        free(exchange);
    }
}

bool exchange_ask_plainly(struct exchange *exchange)
{
    struct exchange *x = exchange;
    if (x->without_edns || !exchange_channel_is_open(&x->udp) ||
        exchange_channel_is_open(&x->tcp)) {
        return false;
    }
    log_debug("no response yet, querying without EDNS, too", LOG_SERVER(&x->server));
    x->refusals = 2; /* those of the earlier query and of its copy */
    for (unsigned i = 0; i < 2; i++) {
        if (i == 1) {
            strip_edns(x);
        }
        (void)exchange_channel_send(&x->udp, query_slice(x)); /* an error shows when receiving */
        exchange_channel_show_query(&x->udp, query_slice(x));
    }
    return true;
}

bool exchange_has_heard(const struct exchange *exchange)
{
    return exchange->malformed > 0 || exchange->truncated.len > 0 ||
           exchange->wrong_ids >= EXCHANGE_WRONG_IDS_MAX;
}

bool exchange_is_starved(const struct exchange *exchange)
{
    return tls_ask_is_starved(&exchange->ask);
}

bool exchange_is_malformed(const struct exchange *exchange)
{
    return exchange->malformed > 0;
}

struct slice exchange_truncated(const struct exchange *exchange)
{
    return buf_slice(&exchange->truncated);
}
