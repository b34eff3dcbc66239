#include "common/http/http_client.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/http/http_transfer_internal.h"

struct http_client {
    struct ev_loop *loop;
    CURLM *multi;
    ev_timer timer;
    ev_timer rest;                /* handles what libcurl has read from an HTTP/2 connection */
    LIST_HEAD(, http_call) calls; /* newest first */
    bool is_in_curl;              /* libcurl is running: handles must not be removed */
    bool is_busy;                 /* a callback may be running: the client must not be freed */
    bool is_freed;                /* once it is not busy */
};

/* Watches one of libcurl's sockets. */
struct socket_watch {
    ev_io io;
    struct http_client *client;
};

struct http_call {
    struct http_client *client;
    LIST_ENTRY(http_call) entry;
    struct http_transfer transfer;
    ev_timer silence; /* repeat = silence_ms; 0 = never started */
    uint32_t silence_ms;
    struct buf body;
    size_t body_max;
    bool is_added; /* libcurl has the handle */
    bool is_canceled;
    bool wants_http2;
    void (*on_open)(void *data);
    void (*on_data)(void *data, struct slice bytes);
    void (*on_end)(void *data, const struct http_result *result);
    void *data;
};

/* ---- The end of a call ---- */

static void free_call(struct http_call *call)
{
    ev_timer_stop(call->client->loop, &call->silence);
    LIST_REMOVE(call, entry);
    if (call->is_added) {
        (void)curl_multi_remove_handle(call->client->multi, call->transfer.easy); /* the handle is
                                                                                     in there */
    }
    http_transfer_fini(&call->transfer);
    buf_fini(&call->body);
    free(call);
}

static void http_client_finish(struct http_call *call, const struct err *err)
{
    if (!call->is_canceled) {
        struct http_result result = {.status = http_transfer_status(&call->transfer),
                                     .was_shared = http_transfer_was_shared(&call->transfer),
                                     .body = buf_slice(&call->body),
                                     .retry_after_s = http_transfer_retry_after_s(&call->transfer),
                                     .err = *err};
        call->on_end(call->data, &result);
    }
    free_call(call);
}

static void add_to_curl(struct http_call *call)
{
    call->is_added = true;
    (void)curl_multi_add_handle(call->client->multi, call->transfer.easy); /* the handle is in no
                                                                              other */
}

/* Handles calls cancelled, started or ended while libcurl was running. on_end may start calls and
 * cancel others; libcurl drops the message of a removed handle. */
static void after_curl(struct http_client *client)
{
    int left;
    CURLMsg *message;
    for (struct http_call *call = LIST_FIRST(&client->calls), *next; call; call = next) {
        next = LIST_NEXT(call, entry);
        if (call->is_canceled) {
            free_call(call);
        } else if (!call->is_added) {
            add_to_curl(call);
        }
    }
    while ((message = curl_multi_info_read(client->multi, &left))) {
        char *owner = NULL;
        struct err err = {0};
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &owner); /* set at start */
        struct http_call *call = (struct http_call *)(void *)owner;
        http_transfer_explain(&call->transfer, (int)message->data.result, call->body_max, &err);
        http_client_finish(call, &err);
    }
}

static void free_client(struct http_client *client)
{
    while (!LIST_EMPTY(&client->calls)) {
        free_call(LIST_FIRST(&client->calls));
    }
    (void)curl_multi_cleanup(client->multi); /* no handle is left */
    ev_timer_stop(client->loop, &client->timer);
    ev_timer_stop(client->loop, &client->rest);
    curl_global_cleanup();
    free(client);
}

/* Ends a busy phase; may free the client. */
static void end_busy(struct http_client *client)
{
    client->is_busy = false;
    if (client->is_freed) {
        free_client(client);
    }
}

static void run_curl(struct http_client *client, curl_socket_t fd, int events)
{
    int running;
    client->is_busy = client->is_in_curl = true;
    (void)curl_multi_socket_action(client->multi, fd, events, &running); /* each call has its own */
    client->is_in_curl = false;
    after_curl(client);
    end_busy(client);
}

/* Runs libcurl again until no call has got more. libcurl 7.88.1 reads from the socket what it has
 * no room for in a stream, and then waits for the socket. */
static void on_rest(struct ev_loop *loop UNUSED, ev_timer *w, int revents UNUSED)
{
    struct http_client *client = w->data;
    curl_socket_t fd = CURL_SOCKET_BAD;
    struct http_call *call = LIST_FIRST(&client->calls);
    for (; call && fd == CURL_SOCKET_BAD; call = LIST_NEXT(call, entry)) {
        fd = call->is_added ? http_transfer_socket(&call->transfer) : CURL_SOCKET_BAD;
    }
    if (fd != CURL_SOCKET_BAD) {
        run_curl(client, fd, CURL_CSELECT_IN);
    }
}

/* ---- libcurl on the loop ---- */

static void on_socket_ready(struct ev_loop *loop UNUSED, ev_io *w, int revents)
{
    struct socket_watch *watch = w->data;
    run_curl(watch->client, w->fd,
             (revents & EV_READ ? CURL_CSELECT_IN : 0) |
                 (revents & EV_WRITE ? CURL_CSELECT_OUT : 0));
}

static void http_client_on_timer(struct ev_loop *loop UNUSED, ev_timer *w, int revents UNUSED)
{
    run_curl(w->data, CURL_SOCKET_TIMEOUT, 0);
}

static int on_want_timer(CURLM *multi UNUSED, long timeout_ms, void *user)
{
    struct http_client *client = user;
    ev_timer_stop(client->loop, &client->timer);
    if (timeout_ms >= 0) {
        timer_arm_ms(client->loop, &client->timer, timeout_ms);
    }
    return 0;
}

static int on_want_socket(CURL *easy UNUSED, curl_socket_t fd, int what, void *user,
                          void *socket_user)
{
    struct http_client *client = user;
    struct socket_watch *watch = socket_user;
    if (what == CURL_POLL_REMOVE) {
        if (watch) {
            ev_io_stop(client->loop, &watch->io);
            free(watch);
            (void)curl_multi_assign(client->multi, fd, NULL); /* the socket is known */
        }
        return 0;
    }
    if (!watch) {
        watch = xcalloc(1, sizeof(*watch));
        watch->client = client;
        ev_io_init(&watch->io, on_socket_ready, fd, 0);
        watch->io.data = watch;
        (void)curl_multi_assign(client->multi, fd, watch); /* the socket is known */
    }
    ev_io_stop(client->loop, &watch->io);
    ev_io_set(&watch->io, fd,
              (what & CURL_POLL_IN ? EV_READ : 0) | (what & CURL_POLL_OUT ? EV_WRITE : 0));
    ev_io_start(client->loop, &watch->io);
    return 0;
}

struct http_client *http_client_new(struct ev_loop *loop)
{
    struct http_client *client = xcalloc(1, sizeof(*client));
    if (curl_global_init_mem(CURL_GLOBAL_DEFAULT, xmalloc, free, xrealloc, xstrdup, xcalloc) ||
        !(client->multi = curl_multi_init())) {
        xalloc_out_of_memory(); /* the only failure of either */
    }
    client->loop = loop;
    timer_init(&client->timer, http_client_on_timer, client);
    timer_init(&client->rest, on_rest, client);
    (void)curl_multi_setopt(client->multi, CURLMOPT_SOCKETFUNCTION, on_want_socket);
    (void)curl_multi_setopt(client->multi, CURLMOPT_SOCKETDATA, client);
    (void)curl_multi_setopt(client->multi, CURLMOPT_TIMERFUNCTION, on_want_timer);
    (void)curl_multi_setopt(client->multi, CURLMOPT_TIMERDATA, client);
    return client;
}

void http_client_free(struct http_client *client)
{
    if (!client) {
        return;
    }
    client->is_freed = true;
    struct http_call *call;
    LIST_FOREACH(call, &client->calls, entry)
    {
        call->is_canceled = true;
        ev_timer_stop(client->loop, &call->silence);
    }
    if (!client->is_busy) {
        free_client(client);
    }
}

/* ---- Responses ---- */

static void http_client_on_bytes(struct http_call *call)
{
    if (call->silence_ms) {
        ev_timer_again(call->client->loop, &call->silence);
    }
}

/* Runs after the sockets of the same loop turn, so that a byte which arrived while the process was
 * stopped counts. */
static void on_silence(struct ev_loop *loop UNUSED, ev_timer *w, int revents UNUSED)
{
    struct http_call *call = w->data;
    struct http_client *client = call->client;
    struct err err = {0};
    err_set(&err, ERR_TIMEOUT, "no data for %u s", (unsigned)(call->silence_ms / 1000));
    client->is_busy = true;
    http_client_finish(call, &err);
    end_busy(client);
}

size_t http_client_on_header(char *line, size_t size, size_t count, void *user)
{
    struct http_call *call = user;
    size_t len = size * count;
    http_client_on_bytes(call);
    bool is_last = len <= 2 && (len == 0 || line[0] == '\r' || line[0] == '\n');
    if (is_last && call->on_open && !call->is_canceled &&
        http_transfer_status(&call->transfer) == 200) {
        call->on_open(call->data);
    }
    return call->is_canceled ? 0 : len;
}

/* Returns less than len to make libcurl end the call with CURLE_WRITE_ERROR. */
size_t http_client_on_body(char *bytes, size_t size, size_t count, void *user)
{
    struct http_call *call = user;
    size_t len = size * count;
    bool is_success = http_transfer_status(&call->transfer) == 200;
    if (call->is_canceled) {
        return 0;
    }
    http_client_on_bytes(call);
    if (call->wants_http2 && http_transfer_has_http2(&call->transfer)) {
        timer_arm(call->client->loop, &call->client->rest, 0);
    }
    if (is_success && call->on_data) {
        call->on_data(call->data, slice_of(bytes, len));
        return call->is_canceled ? 0 : len;
    }
    call->body.limit = is_success ? call->body_max : HTTP_ERROR_BODY_MAX;
    buf_append(&call->body, bytes, len);
    return is_success && call->body.failed ? 0 : len;
}

/* ---- Calls ---- */

struct http_call *http_call_start(struct http_client *client, const struct http_call_config *config)
{
    struct http_call *call = xcalloc(1, sizeof(*call));
    call->client = client;
    call->silence_ms = config->silence_ms;
    call->body_max = config->body_max;
    call->wants_http2 = config->wants_http2;
    call->on_open = config->on_open;
    call->on_data = config->on_data;
    call->on_end = config->on_end;
    call->data = config->data;
    buf_init(&call->body, config->body_max);
    http_transfer_init(&call->transfer, config, call);

    LIST_INSERT_HEAD(&client->calls, call, entry);
    ev_timer_init(&call->silence, on_silence, 0, (double)config->silence_ms / 1000);
    ev_set_priority(&call->silence, EV_MINPRI);
    call->silence.data = call;
    http_client_on_bytes(call);
    if (!client->is_in_curl) {
        add_to_curl(call); /* else after_curl does */
    }
    return call;
}

void http_call_cancel(struct http_call *call)
{
    if (call->client->is_in_curl) {
        call->is_canceled = true; /* after_curl frees it */
        ev_timer_stop(call->client->loop, &call->silence);
    } else {
        free_call(call);
    }
}

const char *http_call_content_type(const struct http_call *call)
{
    char *type = NULL;
    (void)curl_easy_getinfo(call->transfer.easy, CURLINFO_CONTENT_TYPE, &type); /* NULL = absent */
    return type ? type : "";
}

bool http_call_has_http2(const struct http_call *call)
{
    return http_transfer_has_http2(&call->transfer);
}
