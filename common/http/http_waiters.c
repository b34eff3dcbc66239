#include "common/http/http_waiters.h"

#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/duration.h"
#include "common/base/metrics.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/http/http_head.h"
#include "common/http/http_held.h"
#include "common/http/http_server.h"

static const double soon_s = 0.001;
static const char json_type[] = "application/json";
static const char text_type[] = "text/plain; charset=utf-8";
static const char full[] = "32 requests wait already; try again later\n";

struct http_waiter {
    struct http_waiters *waiters;
    struct http_held *held;
    void *item;
    ev_timer timeout;
};

struct http_waiters {
    struct http_waiters_config config;
    struct http_holder *holder;
    ev_prepare turn; /* active while a request waits */
    ev_timer soon;   /* likewise, and something may be true in a moment */
    struct http_waiters_counts counts;
    size_t count;
    struct http_waiter *all[HTTP_WAITERS_MAX]; /* the earliest first */
};

/* ---- Ends ---- */

/* Forgets the waiter, whose response has ended or is lost. */
static void http_waiters_drop(struct http_waiter *waiter)
{
    struct http_waiters *waiters = waiter->waiters;
    size_t i = 0;
    while (waiters->all[i] != waiter) {
        i++;
    }
    waiters->count--;
    for (; i < waiters->count; i++) {
        waiters->all[i] = waiters->all[i + 1];
    }
    ev_timer_stop(waiters->config.loop, &waiter->timeout);
    free(waiter->item);
    free(waiter);
    if (waiters->count == 0) {
        ev_prepare_stop(waiters->config.loop, &waiters->turn);
        ev_timer_stop(waiters->config.loop, &waiters->soon);
    }
}

static void http_waiters_on_gone(void *item)
{
    http_waiters_drop(item);
}

static void http_waiters_answer(struct http_waiter *waiter, int status, const char *type,
                                const char *fields, struct slice body)
{
    struct http_held *held = waiter->held;
    http_waiters_drop(waiter);
    http_held_answer(held, status, type, fields, body);
}

static void http_waiters_on_timeout(struct ev_loop *loop UNUSED, ev_timer *w, int revents UNUSED)
{
    struct http_waiter *waiter = w->data;
    struct http_waiters *waiters = waiter->waiters;
    CLEANUP_BUF struct buf text = buf_of(HTTP_WAIT_TEXT_MAX);
    const bool is_done =
        waiters->config.look(waiters->config.data, waiter->item, &text) == HTTP_WAIT_DONE;
    waiters->counts.done += is_done;
    waiters->counts.late += !is_done;
    http_waiters_answer(waiter, is_done ? HTTP_OK : HTTP_TIMED_OUT, is_done ? json_type : text_type,
                        NULL, buf_slice(&text));
}

/* ---- Looks ---- */

/* Answers all whose wait is over. */
static void http_waiters_look(struct http_waiters *waiters)
{
    bool is_soon = false;
    for (size_t i = 0; i < waiters->count;) {
        struct http_waiter *waiter = waiters->all[i];
        const enum http_wait_state state =
            waiters->config.look(waiters->config.data, waiter->item, NULL);
        if (state == HTTP_WAIT_DONE) {
            http_waiters_on_timeout(waiters->config.loop, &waiter->timeout, 0);
        } else {
            is_soon = is_soon || state == HTTP_WAIT_SOON;
            i++;
        }
    }
    if (is_soon && !ev_is_active(&waiters->soon)) {
        timer_arm(waiters->config.loop, &waiters->soon, soon_s);
    }
}

static void http_waiters_on_turn(struct ev_loop *loop UNUSED, ev_prepare *w, int revents UNUSED)
{
    http_waiters_look(w->data);
}

static void http_waiters_on_soon(struct ev_loop *loop UNUSED, ev_timer *w UNUSED,
                                 int revents UNUSED)
{
    /* The turn that follows looks. */
}

/* ---- Requests ---- */

struct http_waiters *http_waiters_new(const struct http_waiters_config *config)
{
    struct http_waiters *waiters = xcalloc(1, sizeof(*waiters));
    waiters->config = *config;
    waiters->holder = http_holder_new(&(struct http_holder_config){
        .loop = config->loop,
        /* Those that have ended count until they are read. */
        .max = 2 * HTTP_WAITERS_MAX,
        .client_max = 2 * HTTP_WAITERS_MAX,
        .unsent_max = 2 * HTTP_WAITERS_MAX * HTTP_HELD_LAST_MAX,
        .full = full,
        .client_full = full,
        .gone = http_waiters_on_gone,
    });
    ev_prepare_init(&waiters->turn, http_waiters_on_turn);
    waiters->turn.data = waiters;
    ev_set_priority(&waiters->turn, EV_MINPRI); /* after the program's own work in each turn */
    ev_timer_init(&waiters->soon, http_waiters_on_soon, 0., 0.);
    return waiters;
}

void http_waiters_free(struct http_waiters *waiters)
{
    if (waiters) {
        http_holder_free(waiters->holder);
        free(waiters);
    }
}

struct http_waiters_counts http_waiters_count(const struct http_waiters *waiters)
{
    struct http_waiters_counts counts = waiters->counts;
    counts.waiting = waiters->count;
    counts.refusals += http_holder_refusals(waiters->holder);
    return counts;
}

/* Ends the latest wait of the client that has most, in favour of one that has fewer even then. */
static bool http_waiters_make_room(struct http_waiters *waiters, const struct http_held *held)
{
    struct http_waiter *hog = NULL;
    size_t most = http_held_client_count(held);
    for (size_t i = waiters->count; i > 0; i--) {
        struct http_waiter *waiter = waiters->all[i - 1];
        const size_t count = http_held_client_count(waiter->held);
        if (count > most) {
            most = count;
            hog = waiter;
        }
    }
    if (hog) {
        waiters->counts.refusals++;
        http_waiters_answer(hog, HTTP_UNAVAILABLE, text_type, "Retry-After: 1\r\n",
                            slice_str(full));
    }
    return hog != NULL;
}

static void http_waiters_hold(struct http_waiters *waiters, const struct http_request *request,
                              struct http_reply *reply, void *item, int64_t timeout_ms)
{
    struct http_waiter *waiter = xcalloc(1, sizeof(*waiter));
    struct http_held *held = http_holder_reply(waiters->holder, request, reply, waiter);
    if (held && waiters->count == HTTP_WAITERS_MAX && !http_waiters_make_room(waiters, held)) {
        waiters->counts.refusals++;
        http_held_answer(held, HTTP_UNAVAILABLE, text_type, "Retry-After: 1\r\n", slice_str(full));
        held = NULL;
    }
    if (!held) {
        free(item);
        free(waiter);
        return;
    }
    *waiter = (struct http_waiter){.waiters = waiters, .held = held, .item = item};
    waiters->all[waiters->count++] = waiter;
    ev_timer_init(&waiter->timeout, http_waiters_on_timeout, (double)timeout_ms / 1000, 0.);
    waiter->timeout.data = waiter;
    /* After the sockets of the same turn: what has arrived counts. */
    ev_set_priority(&waiter->timeout, EV_MINPRI);
    ev_now_update(waiters->config.loop);
    ev_timer_start(waiters->config.loop, &waiter->timeout);
    ev_prepare_start(waiters->config.loop, &waiters->turn); /* does nothing if it is active */
}

/* Parses the timeout. False: the reply says what is expected. */
static bool http_waiters_timeout(const struct http_request *request, struct http_reply *reply,
                                 int64_t *ret_ms)
{
    const char *text = http_request_arg(request, "timeout");
    *ret_ms = (int64_t)HTTP_WAIT_S_DEFAULT * 1000;
    if (text && (!duration_parse_ms(text, ret_ms) || *ret_ms < 0 ||
                 *ret_ms > (int64_t)HTTP_WAIT_S_MAX * 1000)) {
        reply->status = HTTP_BAD_REQUEST;
        buf_printf(&reply->body, "timeout `%s`: expected a time from 0 to 60s, such as 5s\n", text);
        return false;
    }
    return true;
}

void http_waiters_reply(struct http_waiters *waiters, const struct http_request *request,
                        struct http_reply *reply, void *item)
{
    int64_t timeout_ms;
    if (!http_waiters_timeout(request, reply, &timeout_ms)) {
        free(item);
        return;
    }
    const enum http_wait_state state =
        waiters->config.look(waiters->config.data, item, &reply->body);
    if (state == HTTP_WAIT_DONE) {
        waiters->counts.done++;
        reply->content_type = json_type;
        free(item);
    } else if (timeout_ms == 0) {
        waiters->counts.late++;
        reply->status = HTTP_TIMED_OUT;
        free(item);
    } else {
        buf_clear(&reply->body);
        http_waiters_hold(waiters, request, reply, item, timeout_ms);
    }
}

void http_waiters_write_metrics(const struct http_waiters *waiters, struct metrics_page *page)
{
    const struct http_waiters_counts counts = http_waiters_count(waiters);
    metrics_gauge(page, "waits_open", "Requests for /wait that wait now; at most 32.",
                  (double)counts.waiting);
    metrics_family(page, METRIC_COUNTER, "waits_total",
                   "Requests for /wait that were answered: done with 200, late with 504, refused "
                   "with 503, as others waited.");
    metrics_sample(page, METRIC_LABELS({"result", "done"}), counts.done);
    metrics_sample(page, METRIC_LABELS({"result", "late"}), counts.late);
    metrics_sample(page, METRIC_LABELS({"result", "refused"}), counts.refusals);
}
