#include "common/http/http_connection_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/http/http_admission.h"
#include "common/http/http_head.h"
#include "common/http/http_held_internal.h"
#include "common/http/http_request_internal.h"

enum {
    READ_SIZE = 4096,
    /* Bounds a body that is discarded, so that a probe that POSTs one gets its response. A longer
     * body is not a probe's, and closes the connection. */
    REQUEST_BODY_MAX = 64 * 1024,
    REPLY_BODY_MAX = 16 * 1024 * 1024,
    REPLY_HEAD_MAX = 1024 + HTTP_FIELDS_MAX, /* four fields, and the handler's */
};

static const double request_s = 10.;   /* for all of a request, from the end of the last response */
static const double first_soon_s = 2.; /* for the first request, once hurried */
static const double unread_s = 10.;    /* without progress in reading the response */
static const double linger_s = 2.;     /* for the client to read the response and the end after
                                          it */

enum { FRESH_MS = 1000 };      /* more than a client needs to send its first request */
enum { REPLY_MS = 60 * 1000 }; /* for all of a response: 16 MiB at 300 KB/s */

enum phase { READING, SKIPPING, SENDING, LINGERING };

struct http_connection {
    const struct http_connection_config *config;
    struct ip client;
    ev_io io;
    ev_timer timer; /* closes the connection */
    enum phase phase;
    bool is_new; /* no complete request yet */
    int64_t begun_ms;
    int64_t reply_until_ms; /* SENDING */
    struct buf in;          /* from the start of the request */
    size_t head_len;        /* the head's length in `in`, while the request is answered */
    struct http_head head;
    struct http_request request; /* its strings are in `in` */
    size_t skip_left;            /* SKIPPING: left of the body. LINGERING: still accepted */
    bool is_last;                /* closed after this response */

    /* The two parts being sent, and how many of their bytes are out. */
    struct buf out_head;
    struct buf out_body;
    size_t sent;
    struct http_stream stream; /* `more` is NULL: none, or exhausted */
    bool is_chunked;
    bool is_begun; /* a chunk was sent */

    bool is_given; /* its socket is that of a held response now */
    bool waits;    /* READING, for its turn: http_connection_take_turn handles what is in `in` */
};

static struct http_head new_head(void)
{
    return (struct http_head){.takes_bare_lf = true};
}

/* ---- Life ---- */

static void end_stream(struct http_connection *c)
{
    if (c->stream.end) {
        c->stream.end(c->stream.data);
    }
    c->stream = (struct http_stream){0};
}

/* Resets the connection: the kernel would hold the sent part of a cut response, megabytes, until
 * the client reads it. */
static void drop_unread(int fd)
{
    const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)); /* never fails here */
}

void http_connection_free(struct http_connection *connection)
{
    struct http_connection *c = connection;
    ev_io_stop(c->config->loop, &c->io);
    ev_timer_stop(c->config->loop, &c->timer);
    end_stream(c);
    if (c->phase == SENDING) {
        drop_unread(c->io.fd);
    }
    if (!c->is_given) {
        (void)close(c->io.fd); /* unsent bytes are lost */
    }
    buf_fini(&c->in);
    buf_fini(&c->out_head);
    buf_fini(&c->out_body);
    free(c);
}

static void close_connection(struct http_connection *c)
{
    http_server_drop(c->config->server, c);
    http_connection_free(c);
}

static void http_connection_on_timer(struct ev_loop *loop UNUSED, ev_timer *w, int events UNUSED)
{
    close_connection(w->data);
}

void http_connection_hurry(struct http_connection *connection)
{
    struct http_connection *c = connection;
    if (c->is_new && ev_timer_remaining(c->config->loop, &c->timer) > first_soon_s) {
        timer_arm(c->config->loop, &c->timer, first_soon_s);
    }
}

bool http_connection_is_fresh(const struct http_connection *connection)
{
    const struct http_connection *c = connection;
    return c->is_new && c->phase != SENDING && clock_monotonic_ms() - c->begun_ms < FRESH_MS;
}

bool http_connection_is_answering(const struct http_connection *connection)
{
    return connection->phase == SENDING;
}

const struct ip *http_connection_client(const struct http_connection *connection)
{
    return &connection->client;
}

/* ---- Responses ---- */

void http_connection_write_head(struct buf *out, const struct http_reply_head *head)
{
    char date[64];
    struct tm utc;
    time_t now = time(NULL);
    size_t date_len =
        strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &utc));
    buf_printf(out, "HTTP/1.1 %s\r\nDate: %.*s\r\nContent-Type: %s\r\n",
               http_status_line((enum http_status)head->status), (int)date_len, date,
               head->content_type);
    buf_append_str(out, head->fields ? head->fields : "");
    if (head->is_chunked) {
        buf_append_str(out, "Transfer-Encoding: chunked\r\n");
    } else if (head->body_len >= 0) {
        buf_printf(out, "Content-Length: %" PRId64 "\r\n", head->body_len);
    }
    buf_append_str(out, head->is_last ? "Connection: close\r\n\r\n" : "\r\n");
}

static void write_head(struct http_connection *c, const struct http_reply *reply)
{
    buf_clear(&c->out_head);
    http_connection_write_head(
        &c->out_head,
        &(struct http_reply_head){.status = reply->status,
                                  .content_type = reply->content_type,
                                  .fields = reply->fields,
                                  .body_len = reply->stream.more ? -1 : (int64_t)reply->body.len,
                                  .is_chunked = c->is_chunked,
                                  .is_last = c->is_last});
}

/* Takes the response's body, or its stream. */
static void begin_reply(struct http_connection *c, struct http_reply *reply, bool is_head_alone)
{
    c->is_chunked = reply->stream.more && !c->head.is_1_0;
    c->is_begun = false;
    c->sent = 0;
    write_head(c, reply);
    buf_fini(&c->out_body);
    c->out_body = reply->body;
    c->stream = reply->stream;
    if (is_head_alone) {
        end_stream(c);
        buf_clear(&c->out_body);
        c->is_chunked = false;
    }
    c->phase = SENDING;
    c->reply_until_ms = clock_monotonic_ms() + REPLY_MS;
    timer_arm(c->config->loop, &c->timer, unread_s);
    http_socket_set_events(c->config->loop, &c->io, EV_WRITE);
}

void http_reply_init(struct http_reply *reply)
{
    *reply = (struct http_reply){.status = HTTP_OK, .content_type = "text/plain; charset=utf-8"};
    buf_init(&reply->body, REPLY_BODY_MAX);
}

static void fill_error(struct http_reply *reply, int status, const char *text)
{
    reply->status = status;
    reply->content_type = "text/plain; charset=utf-8";
    reply->fields = NULL;
    buf_clear(&reply->body);
    buf_append_str(&reply->body, text);
}

/* Answers bytes that are not a valid request; the start of the next one is unknown. */
static void http_connection_refuse(struct http_connection *c, int status)
{
    struct http_reply reply;
    http_reply_init(&reply);
    fill_error(&reply, status, http_status_line((enum http_status)status) + 4); /* the words */
    buf_append_char(&reply.body, '\n');
    c->is_last = true;
    c->head = new_head();
    buf_fini(&c->in);
    buf_init(&c->in, HTTP_HEAD_MAX);
    c->head_len = 0;
    begin_reply(c, &reply, false);
}

/* ---- Sending ---- */

/* Goes on to the next request, or lingers, as the response has been sent. */
static void end_reply(struct http_connection *c)
{
    buf_fini(&c->out_body); /* responses may be large; idle connections are not */
    buf_init(&c->out_body, 0);
    buf_consume(&c->in, c->head_len);
    c->head_len = 0;
    c->head = new_head();
    http_socket_set_events(c->config->loop, &c->io, EV_READ);
    if (c->is_last) {
        c->phase = LINGERING;
        c->skip_left = REQUEST_BODY_MAX;
        (void)shutdown(c->io.fd,
                       SHUT_WR); /* fails when the client is gone: the next read shows it */
        timer_arm(c->config->loop, &c->timer, linger_s);
        return;
    }
    c->phase = READING;
    timer_arm(c->config->loop, &c->timer, request_s);
    if (c->in.len > 0) { /* the next request may have arrived */
        ev_io_stop(c->config->loop, &c->io);
        c->waits = true;
        http_server_give_turns(c->config->server);
    } else {
        buf_fini(&c->in);
        buf_init(&c->in, HTTP_HEAD_MAX);
    }
}

/* Appends the next piece of a stream, as a chunk if chunked, or the end. An empty piece appends
 * nothing, so that a stream which has to search for its next bytes lets the loop go on. Returns
 * false if it failed; closing before the last chunk tells the client. */
static bool fill_from_stream(struct http_connection *c)
{
    c->sent = 0;
    buf_clear(&c->out_head);
    buf_fini(&c->out_body);
    buf_init(&c->out_body, HTTP_PIECE_MAX);
    bool has_more = c->stream.more(c->stream.data, &c->out_body);
    if (c->out_body.failed) {
        return false;
    }
    if (c->is_chunked && c->out_body.len > 0) {
        buf_printf(&c->out_head, "%s%zx\r\n", c->is_begun ? "\r\n" : "", c->out_body.len);
        c->is_begun = true;
    }
    if (!has_more) {
        end_stream(c);
    }
    return true;
}

/* Appends the end after the last piece. Returns false if there is nothing to send. */
static bool fill_end_of_chunks(struct http_connection *c)
{
    if (!c->is_chunked) {
        return false;
    }
    c->is_chunked = false;
    c->sent = 0;
    buf_clear(&c->out_head);
    buf_clear(&c->out_body);
    buf_append_str(&c->out_head, c->is_begun ? "\r\n0\r\n\r\n" : "0\r\n\r\n");
    return true;
}

/* Sends what the socket accepts of the two parts. Returns false after an error or the deadline. */
static bool send_parts(struct http_connection *c)
{
    size_t head_sent = c->sent < c->out_head.len ? c->sent : c->out_head.len;
    size_t body_sent = c->sent - head_sent;
    struct iovec parts[2] = {
        {c->out_head.data + head_sent, c->out_head.len - head_sent},
        {c->out_body.len ? c->out_body.data + body_sent : NULL, c->out_body.len - body_sent},
    };
    const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t n = sendmsg(c->io.fd, &message, MSG_NOSIGNAL);
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    c->sent += (size_t)n;
    double left_s = (double)(c->reply_until_ms - clock_monotonic_ms()) / 1000;
    timer_arm(c->config->loop, &c->timer, left_s < unread_s ? left_s : unread_s);
    return left_s > 0.;
}

static bool http_connection_send_reply(struct http_connection *c)
{
    if (!send_parts(c)) {
        return false;
    }
    if (c->sent < c->out_head.len + c->out_body.len) {
        return true;
    }
    if (c->stream.more) {
        return fill_from_stream(c);
    }
    if (!fill_end_of_chunks(c)) {
        end_reply(c);
    }
    return true;
}

/* ---- Answers ---- */

static const struct http_route *find_route(const struct http_connection_config *config,
                                           const char *path)
{
    for (size_t i = 0; i < config->count; i++) {
        const char *pattern = config->routes[i].path;
        if (strcmp(pattern, path) == 0 || strcmp(pattern, "*") == 0) {
            return &config->routes[i];
        }
    }
    return NULL;
}

/* Plain numbers: all servers, and the metrics, are on the main thread. */
static struct http_refusals refusals;

struct http_refusals http_server_refusals(void)
{
    return refusals;
}

/* Refuses a host that may be the name of a web page elsewhere (http_admission.h). */
static bool refuse_host(const struct http_connection *c, struct http_reply *reply)
{
    static struct log_limit limit = {.burst = 1};
    const struct http_hosts *hosts = c->config->hosts;
    const struct slice host = http_head_text(c->in.data, c->head.host);
    if (!hosts || http_hosts_allow(hosts, host)) {
        return false;
    }
    char text[INET6_ADDRSTRLEN];
    if (log_limit_pass(&limit)) {
        log_warn("HTTP request refused, its Host is none of ours; see -http-hosts",
                 LOG_SLICE("host", host), LOG_STR("client", ip_format(&c->client, text)));
    }
    refusals.hosts++;
    fill_error(reply, HTTP_WRONG_HOST, "Host: ");
    buf_append_slice(&reply->body, host);
    buf_append_str(&reply->body, ": expected an IP address, one label, localhost, a name in our "
                                 "domains, or one of -http-hosts\n");
    return true;
}

/* Refuses a client that may not have the page (http_admission.h). */
static bool refuse_client(const struct http_connection *c, struct http_reply *reply)
{
    static struct log_limit limit = {.burst = 1};
    const struct http_access *access = c->config->access;
    if (!access || http_access_allows(access, &c->request, &c->client)) {
        return false;
    }
    char text[INET6_ADDRSTRLEN];
    if (log_limit_pass(&limit)) {
        log_warn("HTTP request refused, its page is not for this client; see -http-allow",
                 LOG_STR("path", c->request.path), LOG_STR("client", ip_format(&c->client, text)));
    }
    refusals.clients++;
    fill_error(reply, HTTP_FORBIDDEN, access->refusal);
    return true;
}

/* Returns false if the connection has nothing more to do. */
static bool http_connection_answer(struct http_connection *c)
{
    const struct http_request *request = &c->request;
    struct http_reply reply;
    http_reply_init(&reply);
    const struct http_route *route = find_route(c->config, request->path);
    if (refuse_host(c, &reply) || refuse_client(c, &reply)) {
        /* whether or not there is such a page */
    } else if (route) {
        route->handler(route->data, request, &reply);
    } else {
        fill_error(&reply, HTTP_NOT_FOUND, "not found\n");
    }
    if (reply.body.failed) {
        fill_error(&reply, HTTP_INTERNAL_ERROR, "response too large\n");
    }
    bool is_head_alone = strcmp(request->method, "HEAD") == 0;
    c->is_last = c->head.wants_close || c->head.is_1_0;
    c->is_new = false;
    if (reply.held) { /* its holder has the socket now */
        ev_io_stop(c->config->loop, &c->io);
        c->is_given = true;
        http_held_take(reply.held, c->io.fd, is_head_alone);
        buf_fini(&reply.body);
        return false;
    }
    http_server_note_request(c->config->server, c);
    begin_reply(c, &reply, is_head_alone);
    /* Sends at once, so that a burst of small requests does not look busy. A client that sends
     * several at a time waits for its turn with each, and others come in between. */
    return c->in.len > c->head_len || http_connection_send_reply(c);
}

/* ---- Requests ---- */

/* Removes the body's bytes that have arrived. Returns false if the body is too long. */
static bool begin_body(struct http_connection *c)
{
    if (c->head.body_len > REQUEST_BODY_MAX) {
        return false;
    }
    size_t behind = c->in.len - c->head_len, body_len = (size_t)c->head.body_len;
    size_t here = behind < body_len ? behind : body_len;
    uint8_t *body = c->in.data + c->head_len;
    memmove(body, body + here, behind - here);
    c->in.len -= here;
    c->skip_left = body_len - here;
    return true;
}

/* Sends `100 Continue`. A socket without room for it belongs to a client that does not read. */
static bool send_continue(const struct http_connection *c)
{
    static const char word[] = "HTTP/1.1 100 Continue\r\n\r\n";
    return send(c->io.fd, word, sizeof(word) - 1, MSG_NOSIGNAL) == (ssize_t)(sizeof(word) - 1);
}

/* Checks for a complete request. Returns false to close the connection, which may have been given
 * away. */
static bool http_connection_take_request(struct http_connection *c)
{
    int status = http_head_parse(&c->head, c->in.data, c->in.len);
    if (status == HTTP_HEAD_MORE) {
        http_socket_set_events(c->config->loop, &c->io, EV_READ);
        return true;
    }
    c->head_len = c->head.at;
    if (status == 0) {
        status = http_request_parse(c->in.data, &c->head, &c->request);
        c->request.client = c->client;
        c->request.has_flush = c->head.has_flush;
    }
    if (status != 0) {
        http_connection_refuse(c, status);
        return true;
    }
    if (!begin_body(c)) {
        return false;
    }
    if (c->skip_left == 0) {
        return http_connection_answer(c);
    }
    c->phase = SKIPPING;
    http_socket_set_events(c->config->loop, &c->io, EV_READ);
    return !c->head.wants_continue || send_continue(c);
}

/* Returns false at the end of input, or after an error. */
static bool http_connection_read_request(struct http_connection *c)
{
    size_t room = HTTP_HEAD_MAX - c->in.len;
    room = room < READ_SIZE ? room : READ_SIZE;
    ssize_t n = recv(c->io.fd, buf_reserve(&c->in, room), room, 0);
    if (n <= 0) {
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    }
    c->in.len += (size_t)n;
    return http_connection_take_request(c);
}

/* Discards up to skip_left bytes. Returns false at the end of input, or after an error. */
static bool http_connection_skip(struct http_connection *c)
{
    uint8_t bytes[READ_SIZE];
    ssize_t n =
        recv(c->io.fd, bytes, c->skip_left < sizeof(bytes) ? c->skip_left : sizeof(bytes), 0);
    if (n <= 0) {
        return n < 0 && (errno == EAGAIN || errno == EINTR);
    }
    c->skip_left -= (size_t)n;
    return true;
}

/* ---- Events ---- */

static bool http_connection_go_on(struct http_connection *c)
{
    switch (c->phase) {
    case READING:
        return http_connection_read_request(c);
    case SKIPPING:
        return http_connection_skip(c) && (c->skip_left > 0 || http_connection_answer(c));
    case SENDING:
        return http_connection_send_reply(c);
    case LINGERING:
        return http_connection_skip(c) && c->skip_left > 0;
    }
    return false;
}

static void http_connection_on_io(struct ev_loop *loop UNUSED, ev_io *w, int events UNUSED)
{
    struct http_connection *c = w->data;
    if (!http_connection_go_on(c)) {
        close_connection(c);
    }
}

bool http_connection_waits(const struct http_connection *connection)
{
    return connection->waits;
}

void http_connection_take_turn(struct http_connection *connection)
{
    struct http_connection *c = connection;
    c->waits = false;
    ev_io_start(c->config->loop, &c->io);
    if (!http_connection_take_request(c)) {
        close_connection(c);
    }
}

struct http_connection *http_connection_new(const struct http_connection_config *config, int fd,
                                            const struct ip *client)
{
    struct http_connection *c = xcalloc(1, sizeof(*c));
    c->config = config;
    c->client = *client;
    c->is_new = true;
    c->begun_ms = clock_monotonic_ms();
    c->head = new_head();
    buf_init(&c->in, HTTP_HEAD_MAX);
    buf_init(&c->out_head, REPLY_HEAD_MAX);
    buf_init(&c->out_body, 0);
    ev_io_init(&c->io, http_connection_on_io, fd, EV_READ);
    c->io.data = c;
    ev_io_start(config->loop, &c->io);
    timer_init(&c->timer, http_connection_on_timer, c);
    /* Runs after the sockets of the same turn: what arrived while the loop was busy counts. */
    ev_set_priority(&c->timer, EV_MINPRI);
    timer_arm(c->config->loop, &c->timer, request_s);
    return c;
}
