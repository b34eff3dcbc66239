#include "common/live/live_page_client_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/xalloc.h"
#include "common/http/http_fetch.h"
#include "common/http/http_response.h"
#include "common/live/live_client_internal.h"

enum {
    EVERY_MS = 5000,
    DEADLINE_MS = 10000,    /* of an answer */
    PAGE_MAX = 1024 * 1024, /* bytes of it */
    REQUEST_MAX = 256,
    CHUNK_MAX = 16384,
    READS_MAX = 32, /* of a step, as live_client's */
};

struct live_page_client {
    struct addr server;
    const struct live_source *source;
    int fd;             /* -1: none */
    int64_t begun_ms;   /* when it asked last */
    struct buf request; /* what is left of it */
    struct http_response response;
    struct live_node *page; /* owned; NULL: none */
};

struct live_page_client *live_page_client_new(const struct addr *server,
                                              const struct live_source *source)
{
    struct live_page_client *client = xcalloc(1, sizeof(*client));
    client->server = http_fetch_server(server);
    client->source = source;
    client->fd = -1;
    client->begun_ms = -EVERY_MS;
    buf_init(&client->request, REQUEST_MAX);
    http_response_init(&client->response, PAGE_MAX);
    return client;
}

static void live_page_client_close(struct live_page_client *client)
{
    if (client->fd >= 0) {
        (void)close(client->fd); /* no write is pending */
    }
    client->fd = -1;
}

void live_page_client_free(struct live_page_client *client)
{
    if (client) {
        live_page_client_close(client);
        buf_fini(&client->request);
        http_response_fini(&client->response);
        live_event_free(client->page);
        free(client);
    }
}

int live_page_client_fd(const struct live_page_client *client, short *ret_events)
{
    *ret_events = client->request.len > 0 ? POLLOUT : POLLIN;
    return client->fd;
}

/* Ends a request with this page; NULL: there is none. */
static void end_page_request(struct live_page_client *client, struct live_node *page)
{
    live_page_client_close(client);
    live_event_free(client->page);
    client->page = page;
}

static void begin_request(struct live_page_client *client, int64_t now_ms)
{
    client->begun_ms = now_ms;
    http_response_fini(&client->response);
    http_response_init(&client->response, PAGE_MAX);
    client->fd = live_client_dial(&client->server, client->source->target, &client->request);
    if (client->fd < 0) {
        end_page_request(client, NULL);
    }
}

static void send_request(struct live_page_client *client)
{
    const ssize_t n = send(client->fd, client->request.data, client->request.len, MSG_NOSIGNAL);
    if (n >= 0) {
        buf_consume(&client->request, (size_t)n);
    } else if (!live_client_is_later(errno)) {
        end_page_request(client, NULL);
    }
}

/* Returns whether there was anything. */
static bool receive_response(struct live_page_client *client)
{
    char bytes[CHUNK_MAX];
    struct err unused;
    const ssize_t n = recv(client->fd, bytes, sizeof(bytes), 0);
    if (n < 0) {
        if (!live_client_is_later(errno)) {
            end_page_request(client, NULL);
        }
        return false;
    }
    const int r = n > 0 ? http_response_add(&client->response, slice_of(bytes, (size_t)n), &unused)
                        : http_response_end(&client->response, &unused);
    if (r < 0) {
        end_page_request(client, NULL);
    } else if (client->response.part == HTTP_RESPONSE_DONE) {
        end_page_request(client, client->response.status == 200
                                     ? live_event_parse(buf_slice(&client->response.body))
                                     : NULL);
    }
    return client->fd >= 0;
}

void live_page_client_step(struct live_page_client *client, int64_t now_ms)
{
    if (client->fd < 0 && now_ms - client->begun_ms >= EVERY_MS) {
        begin_request(client, now_ms);
    }
    if (client->fd >= 0 && client->request.len > 0) {
        send_request(client);
    }
    for (int reads = 0; reads < READS_MAX && client->fd >= 0 && client->request.len == 0; reads++) {
        if (!receive_response(client)) {
            break;
        }
    }
    if (client->fd >= 0 && now_ms - client->begun_ms >= DEADLINE_MS) {
        end_page_request(client, NULL);
    }
}

void live_page_client_put(const struct live_page_client *client, struct live_node *event)
{
    if (client->page) {
        live_event_put(event, client->source->name, client->page);
    }
}
