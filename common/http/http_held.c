#include "common/http/http_held.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/client_net.h"
#include "common/base/clock.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/http/http_connection_internal.h"
#include "common/http/http_head.h"
#include "common/http/http_held_internal.h"

enum {
    UNREAD_MS = 10 * 1000, /* for the client to read the end */
    CLIENT_PART = 8,       /* of the bytes that wait, one client may have this part */
    HEAD_MAX = 1024 + HTTP_FIELDS_MAX,
    DISCARDED_MAX = 64 * 1024,
    UNACKED_MS = 3 * UNREAD_MS, /* the kernel drops it then: after the holder's user and the end */
};

static const double tick_s = 1.;

struct http_held {
    struct http_holder *holder;
    struct client_net client;
    void *item;
    ev_io io; /* its descriptor is -1 until the connection gives it */
    size_t input_len;
    struct buf out;   /* not sent yet */
    int64_t since_ms; /* when the part that waits began to */
    bool is_head_alone;
    bool is_ending; /* the item is gone; closed once all is sent */
};

struct http_holder {
    struct http_holder_config config;
    ev_timer tick; /* active while a response is held */
    size_t count;
    size_t unsent; /* bytes that wait, of all */
    uint64_t refusals;
    struct http_held *held[];
};

/* ---- The table ---- */

static void http_held_free(struct http_held *held)
{
    struct http_holder *holder = held->holder;
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    size_t i = 0;
    while (holder->held[i] != held) {
        i++;
    }
    holder->held[i] = holder->held[--holder->count];
    holder->unsent -= held->out.len;
    ev_io_stop(holder->config.loop, &held->io);
    if (held->io.fd >= 0 && held->out.len > 0) {
        /* Otherwise the kernel would hold what the client has not read. */
        (void)setsockopt(held->io.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    }
    if (held->io.fd >= 0) {
        (void)close(held->io.fd); /* unsent bytes are lost */
    }
    buf_fini(&held->out);
    free(held);
    if (holder->count == 0) {
        ev_timer_stop(holder->config.loop, &holder->tick);
    }
}

void http_held_drop(struct http_held *held)
{
    if (!held->is_ending) {
        held->holder->config.gone(held->item);
    }
    http_held_free(held);
}

static void http_holder_on_tick(struct ev_loop *loop UNUSED, ev_timer *w, int revents UNUSED)
{
    struct http_holder *holder = w->data;
    const int64_t now_ms = clock_monotonic_ms();
    for (size_t i = holder->count; i > 0; i--) { /* the last one moves to a freed one's place */
        struct http_held *held = holder->held[i - 1];
        if (held->is_ending && now_ms - held->since_ms >= UNREAD_MS) {
            http_held_free(held);
        }
    }
}

struct http_holder *http_holder_new(const struct http_holder_config *config)
{
    struct http_holder *holder =
        xcalloc(1, sizeof(*holder) + config->max * sizeof(holder->held[0]));
    holder->config = *config;
    timer_init_every(&holder->tick, http_holder_on_tick, holder, tick_s);
    return holder;
}

void http_holder_free(struct http_holder *holder)
{
    if (!holder) {
        return;
    }
    while (holder->count > 0) {
        http_held_drop(holder->held[0]);
    }
    free(holder);
}

size_t http_holder_count(const struct http_holder *holder)
{
    return holder->count;
}

uint64_t http_holder_refusals(const struct http_holder *holder)
{
    return holder->refusals;
}

struct http_held *http_holder_at(const struct http_holder *holder, size_t i)
{
    return holder->held[i];
}

static size_t http_holder_count_of(const struct http_holder *holder, const struct client_net *net)
{
    size_t count = 0;
    for (size_t i = 0; i < holder->count; i++) {
        count += client_net_equal(&holder->held[i]->client, net);
    }
    return count;
}

struct http_held *http_holder_reply(struct http_holder *holder, const struct http_request *request,
                                    struct http_reply *reply, void *item)
{
    const struct client_net client = client_net_of_ip(&request->client);
    const char *refusal = holder->count == holder->config.max ? holder->config.full
                          : http_holder_count_of(holder, &client) >= holder->config.client_max
                              ? holder->config.client_full
                              : NULL;
    if (refusal) {
        holder->refusals++;
        reply->status = HTTP_UNAVAILABLE;
        reply->fields = "Retry-After: 1\r\n";
        buf_append_str(&reply->body, refusal);
        return NULL;
    }
    struct http_held *held = xcalloc(1, sizeof(*held));
    held->holder = holder;
    held->client = client;
    held->item = item;
    held->io.fd = -1;
    buf_init(&held->out, holder->config.unsent_max + HEAD_MAX + HTTP_HELD_LAST_MAX);
    if (holder->count == 0) {
        ev_timer_again(holder->config.loop, &holder->tick);
    }
    holder->held[holder->count++] = held;
    reply->held = held;
    return held;
}

bool http_held_is_of(const struct http_held *held, const struct ip *client)
{
    const struct client_net net = client_net_of_ip(client);
    return client_net_equal(&held->client, &net);
}

size_t http_held_client_count(const struct http_held *held)
{
    return http_holder_count_of(held->holder, &held->client);
}

/* ---- Sending ---- */

/* Sends what the socket accepts. A connection that has ended shows itself to its reader. */
static void http_held_send(struct http_held *held)
{
    if (held->io.fd < 0 || held->out.len == 0) {
        return;
    }
    const ssize_t n = send(held->io.fd, held->out.data, held->out.len, MSG_NOSIGNAL);
    if (n > 0) {
        buf_consume(&held->out, (size_t)n);
        held->holder->unsent -= (size_t)n;
    }
    if (held->out.len == 0) {
        buf_fini(&held->out); /* an idle stream holds no memory */
        buf_init(&held->out, held->holder->config.unsent_max + HEAD_MAX + HTTP_HELD_LAST_MAX);
    }
    http_socket_set_events(held->holder->config.loop, &held->io,
                           held->out.len > 0 ? EV_READ | EV_WRITE : EV_READ);
}

static void http_held_append(struct http_held *held, struct slice bytes)
{
    const size_t before = held->out.len;
    if (before == 0) {
        held->since_ms = clock_monotonic_ms();
    }
    buf_append_slice(&held->out, bytes);
    held->holder->unsent += held->out.len - before;
}

static void http_held_put_head(struct http_held *held, const struct http_reply_head *reply)
{
    CLEANUP_BUF struct buf head = buf_of(HEAD_MAX);
    http_connection_write_head(&head, reply);
    http_held_append(held, buf_slice(&head));
}

void http_held_begin(struct http_held *held, const char *content_type, const char *fields)
{
    http_held_put_head(held, &(struct http_reply_head){.status = HTTP_OK,
                                                       .content_type = content_type,
                                                       .fields = fields,
                                                       .body_len = -1,
                                                       .is_last = true});
    http_held_send(held);
}

/* Returns whether as much more may wait: all together, and for this client. */
static bool http_held_has_room(const struct http_held *held, size_t len)
{
    const struct http_holder *holder = held->holder;
    size_t of_client = len;
    for (size_t i = 0; holder->unsent > 0 && i < holder->count; i++) {
        const struct http_held *other = holder->held[i];
        of_client += client_net_equal(&other->client, &held->client) ? other->out.len : 0;
    }
    return holder->unsent + len <= holder->config.unsent_max &&
           of_client <= holder->config.unsent_max / CLIENT_PART;
}

bool http_held_write(struct http_held *held, struct slice bytes)
{
    if (!http_held_has_room(held, bytes.len)) {
        return false;
    }
    http_held_append(held, bytes);
    http_held_send(held);
    return true;
}

int64_t http_held_waits_ms(const struct http_held *held)
{
    return held->out.len > 0 ? clock_monotonic_ms() - held->since_ms : -1;
}

/* Waits for the socket, if the connection has not given it yet, and for the client's reading. */
void http_held_end(struct http_held *held, struct slice last)
{
    http_held_append(held, last);
    held->is_ending = true;
    held->since_ms = clock_monotonic_ms();
    http_held_send(held);
    if (held->io.fd >= 0 && held->out.len == 0) {
        http_held_free(held);
    }
}

void http_held_answer(struct http_held *held, int status, const char *content_type,
                      const char *fields, struct slice body)
{
    http_held_put_head(held, &(struct http_reply_head){.status = status,
                                                       .content_type = content_type,
                                                       .fields = fields,
                                                       .body_len = (int64_t)body.len,
                                                       .is_last = true});
    http_held_end(held, held->is_head_alone ? slice_of(NULL, 0) : body);
}

/* ---- The socket ---- */

/* Discards input of a client that has made its last request. Returns false at its end, after an
 * error, or after more than such a client has to say. */
static bool http_held_discard_input(struct http_held *held)
{
    uint8_t bytes[4096];
    const ssize_t n = recv(held->io.fd, bytes, sizeof(bytes), 0);
    if (n <= 0) {
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    }
    held->input_len += (size_t)n;
    return held->input_len <= DISCARDED_MAX;
}

static void http_held_on_io(struct ev_loop *loop UNUSED, ev_io *w, int events)
{
    struct http_held *held = w->data;
    if (events & EV_READ && !http_held_discard_input(held)) {
        http_held_drop(held);
        return;
    }
    const bool has_waited = held->out.len > 0;
    if (events & EV_WRITE) {
        http_held_send(held);
    }
    if (!has_waited || held->out.len > 0) {
        return;
    }
    if (held->is_ending) {
        http_held_free(held);
    } else if (held->holder->config.drained) {
        held->holder->config.drained(held->item);
    }
}

void http_held_take(struct http_held *held, int fd, bool is_head_alone)
{
    const int bytes = held->holder->config.socket_bytes;
    const unsigned unacked_ms = UNACKED_MS;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked_ms, sizeof(unacked_ms));
    if (bytes > 0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)); /* never fails here */
    }
    held->is_head_alone = is_head_alone;
    ev_io_init(&held->io, http_held_on_io, fd, EV_READ);
    held->io.data = held;
    ev_io_start(held->holder->config.loop, &held->io);
    http_held_send(held);
    if (held->is_ending && held->out.len == 0) {
        http_held_free(held);
    }
}
