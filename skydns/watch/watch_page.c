#include "skydns/watch/watch_page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/json_text.h"
#include "common/base/seeded_hash.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/http/http_head.h"
#include "common/http/http_held.h"
#include "skydns/confine/process_limits.h"
#include "skydns/pages/explain.h"
#include "skydns/pages/explain_page.h"
#include "skydns/publish/publisher.h"

enum {
    SOCKET_BYTES = 64 * 1024, /* for SO_SNDBUF, which the kernel doubles */
    UNREAD_MS = 10 * 1000,    /* without having read what was sent */
    SILENT_MS = 15 * 1000,    /* after which a comment shows proxies that the stream lives */
};

static const double tick_s = 1.;
static const char too_slow[] = "the reader is too slow";
static const char fields[] = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                             "X-Accel-Buffering: no\r\n"; /* as http_events.c */

struct watch {
    struct watch_page *page;
    struct http_held *held;
    uint64_t sent_hash; /* of the last answer */
    int64_t sent_ms;
    bool is_due;  /* something may have changed while a part waited */
    char *type;   /* the three in one allocation, behind this */
    char *client; /* "": any */
    char name[];
};

struct watch_page {
    struct ev_loop *loop;
    const struct metrics_sources *sources;
    struct http_holder *holder;
    ev_prepare turn;    /* active while there are streams, as is `tick` */
    ev_timer look;      /* active while a look is due or under way */
    ev_timer tick;      /* closes streams that are not read */
    uint64_t epoch;     /* the publication as of the latest look */
    size_t left;        /* of the streams, these are still to be looked at */
    int64_t look_at_ms; /* the next one, at the earliest */
    struct buf answer;  /* scratch */
    struct buf event;   /* scratch */
    struct watch_counts counts;
    size_t count;
    struct watch *all[WATCH_STREAMS_MAX];
};

/* ---- Streams ---- */

static void watch_page_drop(struct watch *watch)
{
    struct watch_page *page = watch->page;
    size_t i = 0;
    while (page->all[i] != watch) {
        i++;
    }
    page->all[i] = page->all[--page->count]; /* that one is looked at twice, if at all */
    page->left = page->left < page->count ? page->left : page->count;
    free(watch);
    if (page->count == 0) {
        ev_prepare_stop(page->loop, &page->turn);
        ev_timer_stop(page->loop, &page->look);
        ev_timer_stop(page->loop, &page->tick);
        page->left = 0;
    }
}

static void watch_page_on_gone(void *item)
{
    watch_page_drop(item);
}

/* Ends the stream with a last event that says why. */
static void watch_page_end(struct watch *watch, const char *reason)
{
    struct buf last;
    struct http_held *held = watch->held;
    buf_init(&last, HTTP_HELD_LAST_MAX);
    buf_append_str(&last, "event: end\ndata: {\"reason\":");
    json_text_string(&last, slice_str(reason));
    buf_append_str(&last, "}\n\n");
    watch_page_drop(watch);
    http_held_end(held, buf_slice(&last));
    buf_fini(&last);
}

/* ---- Answers ---- */

/* Writes the answer that the stream's client would get now. */
static int watch_page_answer(struct watch_page *page, const struct watch *watch,
                             int64_t *ret_revision, struct err *err)
{
    const struct metrics_sources *sources = page->sources;
    const struct explain_query query = {
        .name = watch->name, .type = watch->type, .client = watch->client};
    const struct explanation *x;
    const int r = explainer_answer(sources->explainer, &query, &x, err);
    if (r == 0) {
        *ret_revision = x->revision;
        buf_clear(&page->answer);
        explain_page_answer(x, &page->answer);
        for (size_t i = 0; i < page->answer.len; i++) { /* an event's data is one line */
            page->answer.data[i] = page->answer.data[i] == '\n' ? ' ' : page->answer.data[i];
        }
    }
    return r;
}

static bool watch_page_write(struct watch *watch, struct slice bytes)
{
    watch->sent_ms = clock_monotonic_ms();
    return http_held_write(watch->held, bytes);
}

/* Sends the answer of watch_page_answer, if it is another than the last one sent. May end the
 * stream. */
static void watch_page_send(struct watch *watch, int64_t revision)
{
    struct watch_page *page = watch->page;
    const uint64_t hash = seeded_hash64(buf_slice(&page->answer));
    if (hash == watch->sent_hash) {
        return;
    }
    buf_clear(&page->event);
    buf_printf(&page->event, "data: {\"revision\":%" PRId64 ",", revision);
    buf_append_slice(&page->event, buf_slice(&page->answer));
    buf_append_str(&page->event, "}\n\n");
    watch->sent_hash = hash;
    if (page->answer.failed || page->event.failed) {
        watch_page_end(watch, "the answer is too large for an event");
    } else if (watch_page_write(watch, buf_slice(&page->event))) {
        page->counts.events++;
    } else {
        page->counts.cut_off++;
        watch_page_end(watch, too_slow);
    }
}

/* Looks whether the answer has changed, once all that was sent is out. */
static void watch_page_look(struct watch *watch)
{
    int64_t revision;
    struct err err;
    watch->is_due = http_held_waits_ms(watch->held) >= 0;
    if (watch->is_due) {
        return;
    }
    if (watch_page_answer(watch->page, watch, &revision, &err) < 0) {
        watch_page_end(watch, err.msg);
    } else {
        watch_page_send(watch, revision);
    }
}

static void watch_page_on_drained(void *item)
{
    struct watch *watch = item;
    if (watch->is_due) {
        watch_page_look(watch);
    }
}

/* ---- Looks at all ---- */

static void watch_page_look_later(struct watch_page *page, int64_t wait_ms)
{
    ev_timer_stop(page->loop, &page->look);
    ev_now_update(page->loop);
    timer_arm_ms(page->loop, &page->look, wait_ms);
}

/* Begins a look when something was published, whatever it was. */
static void watch_page_on_turn(struct ev_loop *loop UNUSED, ev_prepare *w, int revents UNUSED)
{
    struct watch_page *page = w->data;
    if (page->epoch != publisher_epoch(page->sources->publisher) && !ev_is_active(&page->look)) {
        watch_page_look_later(page, page->look_at_ms - clock_monotonic_ms());
    }
}

static void watch_page_on_look(struct ev_loop *loop UNUSED, ev_timer *w, int revents UNUSED)
{
    struct watch_page *page = w->data;
    const int64_t begin_us = clock_monotonic_us();
    if (page->left == 0) {
        page->left = page->count;
        page->epoch = publisher_epoch(page->sources->publisher);
    }
    while (page->left > 0 && clock_monotonic_us() - begin_us < WATCH_PORTION_US) {
        watch_page_look(page->all[--page->left]);
    }
    page->look_at_ms = clock_monotonic_ms() + WATCH_GAP_MS;
    if (page->left > 0) {
        watch_page_look_later(page, 0);
    }
}

static void watch_page_on_tick(struct ev_loop *loop UNUSED, ev_timer *w, int revents UNUSED)
{
    struct watch_page *page = w->data;
    const int64_t now_ms = clock_monotonic_ms();
    for (size_t i = page->count; i > 0; i--) { /* the last one moves to a dropped one's place */
        struct watch *watch = page->all[i - 1];
        if (http_held_waits_ms(watch->held) >= UNREAD_MS) {
            page->counts.cut_off++;
            watch_page_end(watch, too_slow);
        } else if (now_ms - watch->sent_ms >= SILENT_MS && http_held_waits_ms(watch->held) < 0 &&
                   !watch_page_write(watch, slice_str(":\n\n"))) {
            watch->sent_ms = now_ms; /* no room for a comment: others do not read */
        }
    }
}

/* ---- Requests ---- */

static struct watch *watch_page_make(struct watch_page *page, const struct http_request *request)
{
    const struct explain_query query = explain_page_query(request);
    const size_t name_len = query.name ? strlen(query.name) : 0,
                 type_len = query.type ? strlen(query.type) : 0,
                 client_len = query.client ? strlen(query.client) : 0;
    struct watch *watch = xcalloc(1, sizeof(*watch) + name_len + type_len + client_len + 3);
    watch->page = page;
    watch->type = watch->name + name_len + 1;
    watch->client = watch->type + type_len + 1;
    memcpy(watch->name, query.name ? query.name : "", name_len);
    memcpy(watch->type, query.type ? query.type : "", type_len);
    memcpy(watch->client, query.client ? query.client : "", client_len);
    return watch;
}

/* Adds the stream, and sends what is in page->answer. */
static void watch_page_begin(struct watch *watch, int64_t revision)
{
    struct watch_page *page = watch->page;
    if (page->count == 0) {
        page->epoch = publisher_epoch(page->sources->publisher);
        ev_prepare_start(page->loop, &page->turn);
        ev_timer_again(page->loop, &page->tick);
    }
    page->all[page->count++] = watch;
    http_held_begin(watch->held, "text/event-stream", fields);
    watch->sent_hash = ~seeded_hash64(buf_slice(&page->answer)); /* another one */
    watch_page_send(watch, revision);
}

static void watch_page_handle(void *data, const struct http_request *request,
                              struct http_reply *reply)
{
    struct watch_page *page = data;
    int64_t revision;
    struct err err;
    if (!http_request_reads(request, reply)) {
        return;
    }
    struct watch *watch = watch_page_make(page, request);
    if (watch_page_answer(page, watch, &revision, &err) < 0) {
        explain_page_refuse(&err, reply);
    } else if (strcmp(request->method, "HEAD") == 0) {
        reply->content_type = "text/event-stream";
        reply->fields = fields;
    } else {
        watch->held = http_holder_reply(page->holder, request, reply, watch);
    }
    if (watch->held) {
        watch_page_begin(watch, revision);
    } else {
        free(watch);
    }
}

struct watch_page *watch_page_new(struct ev_loop *loop, const struct metrics_sources *sources)
{
    struct watch_page *page = xcalloc(1, sizeof(*page));
    page->loop = loop;
    page->sources = sources;
    page->holder = http_holder_new(&(struct http_holder_config){
        .loop = loop,
        .max = descriptor_limit_pages(WATCH_STREAMS_MAX),
        .client_max = WATCH_CLIENT_MAX,
        .unsent_max = WATCH_UNSENT_MAX,
        .socket_bytes = SOCKET_BYTES,
        .full = "as many streams are open as may be; close one, or try again later\n",
        .client_full = "this client has 128 streams, as many as it may; close one\n",
        .gone = watch_page_on_gone,
        .drained = watch_page_on_drained,
    });
    buf_init(&page->answer, WATCH_EVENT_MAX);
    buf_init(&page->event, WATCH_EVENT_MAX);
    ev_prepare_init(&page->turn, watch_page_on_turn);
    ev_timer_init(&page->look, watch_page_on_look, 0., 0.);
    ev_timer_init(&page->tick, watch_page_on_tick, tick_s, tick_s);
    page->turn.data = page->look.data = page->tick.data = page;
    /* After the sockets of the same turn: a probe that has arrived comes first. */
    ev_set_priority(&page->turn, EV_MINPRI);
    ev_set_priority(&page->look, EV_MINPRI);
    ev_set_priority(&page->tick, EV_MINPRI);
    return page;
}

void watch_page_free(struct watch_page *page)
{
    if (page) {
        http_holder_free(page->holder);
        buf_fini(&page->answer);
        buf_fini(&page->event);
        free(page);
    }
}

struct http_route watch_page_route(struct watch_page *page)
{
    return (struct http_route){"/watch", watch_page_handle, page};
}

struct watch_counts watch_page_count(const void *watch_page)
{
    const struct watch_page *page = watch_page;
    struct watch_counts counts = page->counts;
    counts.streams = page->count;
    counts.refusals = http_holder_refusals(page->holder);
    return counts;
}
