/* Requests that wait for something to become true, for /wait: 200 once it is, 504 after a timeout.
 *
 * A program says what its requests wait for; they are looked at before each sleep of the loop, so
 * that nothing is polled. At most HTTP_WAITERS_MAX wait at once, outside the server's table of
 * connections (http_held.h); a further one is 503 with Retry-After. At a full table the request of
 * a client (client_net.h) takes the place of the latest one of the client with most, if that has
 * more than it then. Without requests nothing runs. Loop's thread only; it outlives the servers. */
#ifndef COMMON_HTTP_HTTP_WAITERS_H
#define COMMON_HTTP_HTTP_WAITERS_H

#include <ev.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct http_reply;
struct http_request;
struct http_waiters;

enum {
    HTTP_WAITERS_MAX = 32, /* scripts of a few deployments; a look at each costs little */
    HTTP_WAIT_S_MAX = 60,
    HTTP_WAIT_S_DEFAULT = 5,
    HTTP_WAIT_TEXT_MAX = 2048, /* of a response's body */
};

enum http_wait_state {
    HTTP_WAIT_MORE, /* something in the loop will happen before it is true */
    HTTP_WAIT_SOON, /* other threads make it true: look again in a millisecond */
    HTTP_WAIT_DONE,
};

struct http_waiters_config {
    struct ev_loop *loop;
    /* Returns the state of what the item waits for, which it may change. `text`, unless it is NULL:
     * appends the JSON of a 200, or a line that says what is missing. */
    enum http_wait_state (*look)(void *data, void *item, struct buf *text);
    void *data;
};

/* Copies config. */
struct http_waiters *http_waiters_new(const struct http_waiters_config *config);

/* Drops all requests; free the servers first. NULL is fine. */
void http_waiters_free(struct http_waiters *waiters);

/* Makes a handler's response wait, for as long as the argument `timeout` says. Takes ownership of
 * the item, made by malloc. Answers at once if it need not wait, and with 400 if `timeout` is no
 * duration up to a minute. */
void http_waiters_reply(struct http_waiters *waiters, const struct http_request *request,
                        struct http_reply *reply, void *item);

struct http_waiters_counts {
    size_t waiting;    /* now */
    uint64_t done;     /* answered with 200, since the start; at once, too */
    uint64_t late;     /* with 504 */
    uint64_t refusals; /* with 503 */
};

struct http_waiters_counts http_waiters_count(const struct http_waiters *waiters);

/* Appends these counts to a page of metrics. */
struct metrics_page;
void http_waiters_write_metrics(const struct http_waiters *waiters, struct metrics_page *page);

#endif
