#include "kube2sky/reflector.h"

#include <stdlib.h>
#include <string.h>

#include "common/backoff.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "kube2sky/kube_client.h"

/* A watch from a resourceVersion that the server has not reached (its store came back from a
 * backup) is never answered, not even by a bookmark. One timeout without either is possible on a
 * quiet cluster: a bookmark comes about once a minute, and not before the first event. */
enum { SILENT_WATCHES_MAX = 2 };

/* A watch that ends sooner and brought nothing would be opened again without pause for ever. */
enum { SHORT_WATCH_MS = 1000 };

const struct reflector_timing reflector_default_timing = {
    .watch_min_s = 60,
    .watch_max_s = 120,
    .overdue_ms = 30000,
    .retry_first_ms = 100,
    .retry_max_ms = 5000,
};

struct reflector {
    struct reflector_config config;
    struct reflector_timing timing;
    struct backoff backoff;
    ev_timer retry;               /* WAITING */
    struct kube_request *request; /* LISTING, WATCHING; else NULL */

    char *version;        /* where the watch resumes; NULL: list first */
    char *list_version;   /* of the first page of the list in progress; NULL: none is */
    char *continue_token; /* of its next page */

    ev_timer overdue;
    int watch_timeout_s;
    int64_t watch_start_ms;
    int64_t last_line_ms;
    bool is_relisting;       /* history was gone, and nothing was heard since */
    bool has_heard;          /* an event or bookmark came on this watch */
    unsigned silent_watches; /* in a row that ended at their timeout without one */
    bool has_state;          /* state was called */
    struct err state;        /* with this; code 0 = NULL */
    struct reflector_counts counts;
};

static void begin(struct reflector *reflector);

/* ---- What is wrong, and waiting ---- */

static void report(struct reflector *reflector, const struct err *err)
{
    const struct err now = err ? *err : (struct err){0};
    if (reflector->has_state && now.code == reflector->state.code &&
        strcmp(now.msg, reflector->state.msg) == 0) {
        return;
    }
    reflector->has_state = true;
    reflector->state = now;
    reflector->config.state(reflector->config.data, reflector->config.kind, err);
}

static void forget_version(struct reflector *reflector)
{
    free(reflector->version);
    reflector->version = NULL;
    reflector->silent_watches = 0;
}

static void set_version(struct reflector *reflector, const char *version)
{
    char *copy = xstrdup(version);
    free(reflector->version);
    reflector->version = copy;
}

static void forget_list(struct reflector *reflector)
{
    free(reflector->list_version);
    free(reflector->continue_token);
    reflector->list_version = NULL;
    reflector->continue_token = NULL;
}

static void retry_later(struct reflector *reflector)
{
    uint32_t delay_ms = backoff_next_ms(&reflector->backoff, backoff_random());
    ev_timer_set(&reflector->retry, (double)delay_ms / 1000, 0);
    ev_timer_start(reflector->config.loop, &reflector->retry);
}

static void on_retry(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop;
    (void)revents;
    begin(w->data);
}

/* History that is gone is an ordinary event for whoever was away: nothing to report, and listed
 * again at once, unless nothing was heard since the last time: a server could answer so each time.
 */
static void fail(struct reflector *reflector, const struct err *err)
{
    log_debug("list or watch ended", LOG_STR("kind", kube_kind_name(reflector->config.kind)),
              LOG_STR("reason", err->msg));
    if (err->code != ERR_COMPACTED) {
        report(reflector, err);
        retry_later(reflector);
    } else if (reflector->is_relisting) {
        retry_later(reflector);
    } else {
        reflector->is_relisting = true;
        begin(reflector);
    }
}

/* ---- Listing ---- */

static void on_listed(void *data, struct kube_object *object)
{
    struct reflector *reflector = data;
    reflector->config.upsert(reflector->config.data, object);
}

static void on_listed_bad(void *data, const char *name, const struct err *err)
{
    struct reflector *reflector = data;
    reflector->config.bad(reflector->config.data, reflector->config.kind, name, err);
}

/* The watch starts at the first page's version, which the later pages keep: events that are in the
 * list already may come again, none is lost. */
static void finish_list(struct reflector *reflector)
{
    set_version(reflector, reflector->list_version);
    reflector->silent_watches = 0;
    forget_list(reflector);
    reflector->counts.lists++;
    reflector->config.list_end(reflector->config.data, reflector->config.kind);
}

static void on_page(void *data, struct slice body, const struct err *err)
{
    struct reflector *reflector = data;
    struct kube_list_meta meta = {0};
    struct err bad = {0};
    enum kube_kind kind = reflector->config.kind;
    reflector->request = NULL;
    if (err) {
        forget_list(reflector);
        fail(reflector, err);
        return;
    }
    if (!reflector->list_version) {
        reflector->config.list_begin(reflector->config.data, kind);
    }
    if (kube_decode_list(kind, body, on_listed, on_listed_bad, reflector, &meta, &bad) < 0) {
        err_wrap(&bad, bad.code, "%s", kube_kind_name(kind));
        forget_list(reflector);
        fail(reflector, &bad);
        return;
    }
    if (!reflector->list_version) {
        reflector->list_version = STEAL(meta.resource_version);
    }
    free(reflector->continue_token);
    reflector->continue_token = STEAL(meta.continue_token);
    kube_list_meta_fini(&meta);
    if (!*reflector->continue_token) {
        finish_list(reflector);
    }
    begin(reflector);
}

/* ---- Watching ---- */

static void hear(struct reflector *reflector)
{
    reflector->has_heard = true;
    reflector->silent_watches = 0;
    reflector->is_relisting = false;
    backoff_reset(&reflector->backoff);
}

/* The watch is over before its end. */
static void leave_watch(struct reflector *reflector)
{
    ev_timer_stop(reflector->config.loop, &reflector->overdue);
    kube_request_cancel(reflector->request);
    reflector->request = NULL;
}

static void take_event(struct reflector *reflector, struct kube_event *event, const struct err *err)
{
    const struct reflector_config *config = &reflector->config;
    hear(reflector);
    if (event->resource_version) {
        set_version(reflector, event->resource_version);
    }
    switch (event->kind) {
    case KUBE_EVENT_UPSERT:
        config->upsert(config->data, STEAL(event->object));
        break;
    case KUBE_EVENT_DELETE:
        config->remove(config->data, config->kind, event->object->ns, event->object->name);
        break;
    case KUBE_EVENT_BAD:
        config->bad(config->data, config->kind, event->bad_name, err);
        break;
    case KUBE_EVENT_BOOKMARK:
    case KUBE_EVENT_ERROR:
        break;
    }
}

static void on_watch_open(void *data)
{
    struct reflector *reflector = data;
    reflector->counts.watches++;
    report(reflector, NULL);
}

/* After an ERROR event, and after a line that is no event, it is not known what was missed. */
static void on_watch_line(void *data, struct slice line)
{
    struct reflector *reflector = data;
    struct kube_event event = {0};
    struct err err = {0};
    reflector->last_line_ms = clock_monotonic_ms();
    int rc = kube_decode_event(reflector->config.kind, line, &event, &err);
    if (rc == 0 && event.kind != KUBE_EVENT_ERROR) {
        take_event(reflector, &event, &err);
    } else {
        leave_watch(reflector);
        forget_version(reflector);
        err_wrap(&err, err.code, "watch of %s", kube_kind_name(reflector->config.kind));
        fail(reflector, &err);
    }
    kube_event_fini(&event);
}

/* It ended at its timeout or later, not because the server is going away: half of it tells. */
static void count_silence(struct reflector *reflector, int64_t lasted_ms)
{
    if (!reflector->has_heard && lasted_ms >= (int64_t)reflector->watch_timeout_s * 500 &&
        ++reflector->silent_watches >= SILENT_WATCHES_MAX) {
        log_debug("no event or bookmark in two watches, listing again",
                  LOG_STR("kind", kube_kind_name(reflector->config.kind)));
        forget_version(reflector);
    }
}

static void on_watch_end(void *data, const struct err *err)
{
    struct reflector *reflector = data;
    int64_t lasted_ms = clock_monotonic_ms() - reflector->watch_start_ms;
    reflector->request = NULL;
    ev_timer_stop(reflector->config.loop, &reflector->overdue);
    if (err) {
        if (err->code == ERR_COMPACTED || err->code == ERR_PROTOCOL || err->code == ERR_TOO_LARGE) {
            forget_version(reflector); /* asking the same again would end the same */
        }
        fail(reflector, err);
        return;
    }
    count_silence(reflector, lasted_ms);
    if (reflector->has_heard || lasted_ms >= SHORT_WATCH_MS) {
        backoff_reset(&reflector->backoff);
        begin(reflector);
    } else {
        retry_later(reflector);
    }
}

/* Lines may still be coming from a server that does not heed timeoutSeconds. */
static void on_overdue(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct reflector *reflector = w->data;
    struct err err = {0};
    int64_t now_ms = clock_monotonic_ms();
    int64_t silent_ms = now_ms - reflector->last_line_ms;
    (void)revents;
    if (silent_ms < (int64_t)reflector->timing.overdue_ms) {
        ev_timer_set(w, (double)(reflector->timing.overdue_ms - silent_ms) / 1000, 0);
        ev_timer_start(loop, w);
        return;
    }
    leave_watch(reflector);
    count_silence(reflector, now_ms - reflector->watch_start_ms);
    err_set(&err, ERR_TIMEOUT,
            "watch of %s: the server did not end it at its timeout and is silent",
            kube_kind_name(reflector->config.kind));
    fail(reflector, &err);
}

static void start_watch(struct reflector *reflector)
{
    static const struct kube_watch_callbacks callbacks = {
        .on_open = on_watch_open, .on_line = on_watch_line, .on_end = on_watch_end};
    const struct reflector_timing *timing = &reflector->timing;
    uint32_t spread_s = (uint32_t)(timing->watch_max_s - timing->watch_min_s);
    reflector->watch_timeout_s = timing->watch_min_s + (int)(backoff_random() % (spread_s + 1));
    reflector->watch_start_ms = clock_monotonic_ms();
    reflector->last_line_ms = reflector->watch_start_ms;
    reflector->has_heard = false;
    reflector->request =
        kube_client_watch(reflector->config.client, reflector->config.kind, reflector->version,
                          reflector->watch_timeout_s, &callbacks, reflector);
    ev_timer_set(&reflector->overdue,
                 reflector->watch_timeout_s + (double)timing->overdue_ms / 1000, 0);
    ev_timer_start(reflector->config.loop, &reflector->overdue);
}

/* The next request: a page while there is no version to watch from, else the watch. */
static void begin(struct reflector *reflector)
{
    if (reflector->version) {
        start_watch(reflector);
    } else {
        const char *token = reflector->continue_token ? reflector->continue_token : "";
        reflector->request = kube_client_list(reflector->config.client, reflector->config.kind,
                                              token, on_page, reflector);
    }
}

/* ---- Lifecycle ---- */

struct reflector *reflector_start(const struct reflector_config *config)
{
    struct reflector *reflector = xcalloc(1, sizeof(*reflector));
    reflector->config = *config;
    reflector->timing = config->timing ? *config->timing : reflector_default_timing;
    reflector->config.timing = NULL; /* the copy counts */
    backoff_init(&reflector->backoff, reflector->timing.retry_first_ms,
                 reflector->timing.retry_max_ms);
    ev_timer_init(&reflector->retry, on_retry, 0, 0);
    ev_timer_init(&reflector->overdue, on_overdue, 0, 0);
    /* After the sockets of the same turn: what came while the process was stopped counts. */
    ev_set_priority(&reflector->overdue, EV_MINPRI);
    reflector->retry.data = reflector;
    reflector->overdue.data = reflector;
    begin(reflector);
    return reflector;
}

void reflector_stop(struct reflector *reflector)
{
    if (!reflector) {
        return;
    }
    if (reflector->request) {
        kube_request_cancel(reflector->request);
    }
    ev_timer_stop(reflector->config.loop, &reflector->retry);
    ev_timer_stop(reflector->config.loop, &reflector->overdue);
    free(reflector->version);
    forget_list(reflector);
    free(reflector);
}

struct reflector_counts reflector_counts(const struct reflector *reflector)
{
    return reflector->counts;
}
