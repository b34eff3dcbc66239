#include "common/live/live_client_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/sockets.h"
#include "common/base/xalloc.h"
#include "common/http/http_fetch.h"
#include "common/live/event_stream_internal.h"

/* An event comes every second: five missed ones are no coincidence. */
enum { RETRY_MS = 1000, SILENCE_MAX_MS = 5000 };

enum { REQUEST_MAX = 256 };

/* Bounds the reads of one step: a peer that never stops sending must not keep keys from being
 * read. */
enum { READS_MAX = 32 };

struct live_client {
    struct addr server;
    int fd; /* -1: none */
    bool is_connected;
    struct buf request; /* what is left of it */
    struct event_stream stream;
    int64_t tried_ms;      /* when the last attempt began */
    int64_t heard_ms;      /* or when the attempt began */
    int64_t away_since_ms; /* 0: not silent */
    struct err why;
};

struct live_client *live_client_new(const struct addr *server, int64_t now_ms)
{
    struct live_client *client = xcalloc(1, sizeof(*client));
    client->server = http_fetch_server(server);
    client->fd = -1;
    client->tried_ms = now_ms - RETRY_MS;
    client->away_since_ms = now_ms;
    buf_init(&client->request, REQUEST_MAX);
    event_stream_init(&client->stream);
    err_set(&client->why, ERR_UNAVAILABLE, "connecting");
    return client;
}

static void hang_up(struct live_client *client)
{
    if (client->fd >= 0) {
        (void)close(client->fd); /* no write is pending */
    }
    client->fd = -1;
    client->is_connected = false;
}

void live_client_free(struct live_client *client)
{
    if (client) {
        hang_up(client);
        buf_fini(&client->request);
        event_stream_fini(&client->stream);
        free(client);
    }
}

const struct addr *live_client_server(const struct live_client *client)
{
    return &client->server;
}

int live_client_fd(const struct live_client *client, short *ret_events)
{
    *ret_events = client->request.len > 0 ? POLLOUT : POLLIN;
    return client->fd;
}

int64_t live_client_due_ms(const struct live_client *client)
{
    return client->fd < 0 ? client->tried_ms + RETRY_MS : client->heard_ms + SILENCE_MAX_MS;
}

int64_t live_client_away_since_ms(const struct live_client *client)
{
    return client->away_since_ms;
}

const char *live_client_why(const struct live_client *client)
{
    return client->why.msg;
}

/* Closes the connection; client->why says why. */
static void live_client_disconnect(struct live_client *client, int64_t now_ms)
{
    hang_up(client);
    if (client->away_since_ms == 0) {
        client->away_since_ms = now_ms;
    }
}

static void lose_by_errno(struct live_client *client, int64_t now_ms, int number)
{
    err_set(&client->why, -number, "%s", err_code_text(-number));
    live_client_disconnect(client, now_ms);
}

int live_client_dial(const struct addr *server, const char *target, struct buf *request)
{
    char host[ADDR_TEXT_MAX];
    buf_clear(request);
    buf_printf(request, "GET %s HTTP/1.0\r\nHost: %s\r\n\r\n", target, addr_format(server, host));
    return sockets_connect(server, SOCK_STREAM);
}

static void live_client_connect(struct live_client *client, int64_t now_ms)
{
    client->tried_ms = now_ms;
    client->heard_ms = now_ms;
    event_stream_fini(&client->stream);
    event_stream_init(&client->stream);
    client->fd = live_client_dial(&client->server, "/live", &client->request);
    if (client->fd < 0) {
        lose_by_errno(client, now_ms, -client->fd);
    }
}

bool live_client_is_later(int number)
{
    return number == EAGAIN || number == EINTR || number == ENOTCONN;
}

static void live_client_ask(struct live_client *client, int64_t now_ms)
{
    int number = 0;
    socklen_t len = sizeof(number);
    if (getsockopt(client->fd, SOL_SOCKET, SO_ERROR, &number, &len) != 0 || number != 0) {
        lose_by_errno(client, now_ms, number ? number : errno);
        return;
    }
    ssize_t n = send(client->fd, client->request.data, client->request.len, MSG_NOSIGNAL);
    if (n >= 0) {
        buf_consume(&client->request, (size_t)n);
    } else if (!live_client_is_later(errno)) {
        lose_by_errno(client, now_ms, errno);
    }
}

/* Returns whether there was anything. */
static bool live_client_receive(struct live_client *client, int64_t now_ms)
{
    char bytes[EVENT_STREAM_CHUNK_MAX];
    ssize_t n = recv(client->fd, bytes, sizeof(bytes), 0);
    if (n > 0) {
        client->heard_ms = now_ms;
        event_stream_add(&client->stream, slice_of(bytes, (size_t)n));
        return true;
    }
    if (n == 0) {
        err_set(&client->why, ERR_UNAVAILABLE, "it closed the connection");
        live_client_disconnect(client, now_ms);
    } else if (!live_client_is_later(errno)) {
        lose_by_errno(client, now_ms, errno);
    }
    return false;
}

static struct live_node *live_client_append_node(struct live_client *client, struct slice text,
                                                 int64_t now_ms)
{
    struct live_node *event = live_event_parse(text);
    if (event) {
        client->away_since_ms = 0;
    } else {
        err_set(&client->why, ERR_PROTOCOL, "an event that is no JSON object");
        live_client_disconnect(client, now_ms);
    }
    return event;
}

struct live_node *live_client_step(struct live_client *client, int64_t now_ms)
{
    struct slice text;
    if (client->fd < 0 && now_ms >= client->tried_ms + RETRY_MS) {
        live_client_connect(client, now_ms);
    }
    if (client->fd >= 0 && client->request.len > 0) {
        live_client_ask(client, now_ms);
    }
    for (int reads = 0; reads < READS_MAX && client->fd >= 0 && client->request.len == 0; reads++) {
        enum event_stream_result result = event_stream_next(&client->stream, &text, &client->why);
        if (result == EVENT_STREAM_EVENT) {
            return live_client_append_node(client, text, now_ms);
        }
        if (result == EVENT_STREAM_FAILED) {
            live_client_disconnect(client, now_ms);
        } else if (!live_client_receive(client, now_ms)) {
            break;
        }
    }
    if (client->fd >= 0 && now_ms >= client->heard_ms + SILENCE_MAX_MS) {
        err_set(&client->why, ERR_TIMEOUT, "nothing came for %d s", SILENCE_MAX_MS / 1000);
        live_client_disconnect(client, now_ms);
    }
    return NULL;
}
