#include "kube2sky/api/watcher_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "kube2sky/api/kube_object.h"
#include "kube2sky/api/reflector_internal.h"
#include "kube2sky/api/version_check_internal.h"

/* A watch that ends sooner, whatever it brought, is reopened only after a backoff. */
enum { SHORT_WATCH_MS = 1000 };

struct watcher {
    struct watcher_config config;
    struct backoff backoff;
    ev_timer retry;
    struct kube_request *request; /* NULL while waiting or lost */
    char *version;                /* version where the watch resumes */

    ev_timer pulse; /* checks whether the server is still there */
    int timeout_s;
    uint32_t renew_ms;
    int64_t start_ms;
    int64_t heard_ms;            /* when it was accepted, or last received a frame or an answer */
    int64_t asked_ms;            /* when a question was asked; 0 = none is open */
    int64_t refused_ms;          /* when the first refusal in a row came; 0 = none */
    bool is_open;                /* the server has accepted it */
    bool is_doubted;             /* the question has no answer, which was reported */
    struct version_check *check; /* NULL: none since the version was listed */
    bool is_resumed;             /* it continues one that ended */
};

static void open_watch(struct watcher *watcher);

static const char *kind_name(const struct watcher *watcher)
{
    return watcher->config.resource->name;
}

/* ---- Retries and giving up ---- */

uint32_t watcher_retry_ms(const struct reflector_timing *timing, struct backoff *backoff, int code)
{
    backoff->max_ms = code == ERR_REFUSED ? timing->refused_max_ms : timing->retry_max_ms;
    return backoff_next_ms(backoff, backoff_random());
}

/* Waits before it reopens the watch. One event is no proof of health: the delay grows until a watch
 * has lasted. It stays short while a server that refuses may have just started. failure NULL: the
 * watch only ended early. */
static void watcher_retry_later(struct watcher *watcher, const struct kube_failure *failure)
{
    uint32_t at_least_ms = failure ? failure->retry_after_ms : 0;
    if (clock_monotonic_ms() - watcher->start_ms >= (int64_t)watcher->config.timing->calm_ms) {
        backoff_reset(&watcher->backoff);
    }
    uint32_t delay_ms = watcher_retry_ms(watcher->config.timing, &watcher->backoff,
                                         failure && !watcher->refused_ms ? failure->err.code : 0);
    delay_ms = delay_ms > at_least_ms ? delay_ms : at_least_ms;
    log_debug("watch retry scheduled", LOG_STR("kind", kind_name(watcher)),
              LOG_INT("retry_ms", delay_ms));
    timer_arm_ms(watcher->config.loop, &watcher->retry, delay_ms);
}

static void watcher_on_retry(struct ev_loop *loop UNUSED, ev_timer *w, int revents UNUSED)
{
    open_watch(w->data);
}

/* Ends the request, before it is repeated or the watch is given up. */
static void leave_watch(struct watcher *watcher)
{
    ev_timer_stop(watcher->config.loop, &watcher->pulse);
    if (watcher->request) {
        kube_request_cancel(watcher->request);
        watcher->request = NULL;
    }
}

/* Handles the end of the connection; may free the watcher. */
static void watcher_disconnect(struct watcher *watcher, const struct kube_failure *failure)
{
    log_debug("watch lost, listing again", LOG_STR("kind", kind_name(watcher)),
              LOG_STR("namespace", watcher->config.scope.ns), LOG_STR("reason", failure->err.msg));
    reflector_lose_watch(watcher->config.owner, failure);
}

/* ---- Events ---- */

static void watcher_set_version(struct watcher *watcher, const char *version)
{
    char *copy = xstrdup(version);
    free(watcher->version);
    watcher->version = copy;
}

static void set_pulse(struct watcher *watcher, int64_t wait_ms)
{
    timer_arm_ms(watcher->config.loop, &watcher->pulse, wait_ms);
}

/* Notes any sign of life. */
static void watcher_on_sign_of_life(struct watcher *watcher)
{
    watcher->heard_ms = clock_monotonic_ms();
    if (watcher->is_doubted) {
        watcher->is_doubted = false;
        reflector_note_watch(watcher->config.owner, NULL);
    }
}

/* Reports that the storage went back: known objects of other kinds may be wrong, too. */
void watcher_note_went_back(struct watcher *watcher, const char *seen, const char *now)
{
    struct kube_failure failure = {0};
    err_set(&failure.err, ERR_COMPACTED,
            "watch of %s: the server's version %.40s is before %.40s, which was seen",
            kind_name(watcher), now, seen);
    leave_watch(watcher);
    ev_timer_stop(watcher->config.loop, &watcher->retry);
    reflector_note_went_back(watcher->config.owner, &failure.err);
    watcher_disconnect(watcher, &failure);
}

static void watcher_on_open(void *data)
{
    struct watcher *watcher = data;
    watcher->is_open = true;
    watcher->refused_ms = 0;
    watcher_on_sign_of_life(watcher);
    set_pulse(watcher, watcher->config.timing->silent_ms);
    if (watcher->is_resumed && watcher->config.compares_versions) {
        /* It may be to a server whose storage was restored meanwhile. */
        version_check_stop(watcher->check);
        watcher->check = version_check_start(&watcher->config, watcher, watcher->version);
    }
    watcher->is_resumed = true;
    counter_add(watcher->config.opened, 1);
    log_debug("watch accepted", LOG_STR("kind", kind_name(watcher)),
              LOG_STR("namespace", watcher->config.scope.ns));
    reflector_note_watch(watcher->config.owner, NULL);
}

/* Handles an event. After an ERROR event or an invalid frame, events may have been missed. Within a
 * watch versions grow: a server that goes back repeats or reorders events, so that an object's last
 * state is unknown. */
static void watcher_on_frame(void *data, enum kube_encoding encoding, struct slice frame)
{
    struct watcher *watcher = data;
    struct kube_event event = {0};
    struct kube_failure failure = {0};
    struct err *err = &failure.err;
    watcher_on_sign_of_life(watcher);
    int rc = kube_decode_event(encoding, watcher->config.resource->kind, frame, &event, err);
    if (rc == 0 && event.kind != KUBE_EVENT_ERROR && event.resource_version &&
        kube_version_is_before(event.resource_version, watcher->version)) {
        rc = err_set(err, ERR_COMPACTED, "an event of version %.40s came after %.40s",
                     event.resource_version, watcher->version);
    }
    if (rc == 0 && event.kind != KUBE_EVENT_ERROR) {
        if (event.resource_version) {
            watcher_set_version(watcher, event.resource_version);
        }
        reflector_take_event(watcher->config.owner, &event, err);
        kube_event_fini(&event);
        return;
    }
    kube_event_fini(&event);
    leave_watch(watcher);
    err_wrap(err, err->code, "watch of %s", kind_name(watcher));
    watcher_disconnect(watcher, &failure);
}

/* ---- The end of a watch ---- */

/* Returns whether a repeated request would fail the same way. */
static bool is_final(const struct err *err)
{
    return err->code == ERR_COMPACTED || err->code == ERR_PROTOCOL || err->code == ERR_TOO_LARGE;
}

/* Returns whether the server refuses for good, as far as can be known. */
static bool watcher_is_refused(struct watcher *watcher, int status)
{
    int64_t now_ms = clock_monotonic_ms();
    if (!watcher->config.is_replaceable || (status != 403 && status != 404)) {
        watcher->refused_ms = 0;
        return false;
    }
    watcher->refused_ms = watcher->refused_ms ? watcher->refused_ms : now_ms;
    return now_ms - watcher->refused_ms >= (int64_t)watcher->config.timing->cold_ms;
}

static void watcher_fail(struct watcher *watcher, const struct kube_failure *failure)
{
    log_debug("watch ended", LOG_STR("kind", kind_name(watcher)),
              LOG_STR("namespace", watcher->config.scope.ns), LOG_STR("reason", failure->err.msg));
    reflector_note_watch(watcher->config.owner, &failure->err);
    watcher_retry_later(watcher, failure);
}

static void watcher_on_end(void *data, const struct kube_failure *failure)
{
    struct watcher *watcher = data;
    int64_t lasted_ms = clock_monotonic_ms() - watcher->start_ms;
    watcher->request = NULL;
    ev_timer_stop(watcher->config.loop, &watcher->pulse);
    if (failure && (watcher_is_refused(watcher, failure->status) || is_final(&failure->err))) {
        watcher_disconnect(watcher, failure);
    } else if (failure) {
        watcher_fail(watcher, failure);
    } else if (lasted_ms >= SHORT_WATCH_MS) {
        log_debug("watch ended at its timeout", LOG_STR("kind", kind_name(watcher)),
                  LOG_STR("namespace", watcher->config.scope.ns), LOG_INT("lasted_ms", lasted_ms));
        backoff_reset(&watcher->backoff);
        open_watch(watcher);
    } else {
        log_debug("watch ended early", LOG_STR("kind", kind_name(watcher)),
                  LOG_INT("lasted_ms", lasted_ms));
        watcher_retry_later(watcher, NULL);
    }
}

/* ---- A server that hangs ---- */

static void watcher_give_up(struct watcher *watcher, const char *why)
{
    struct kube_failure failure = {0};
    leave_watch(watcher);
    err_set(&failure.err, ERR_TIMEOUT, "watch of %s: %s", kind_name(watcher), why);
    watcher_fail(watcher, &failure);
}

static void watcher_suspect(struct watcher *watcher)
{
    struct err err = {0};
    watcher->is_doubted = true;
    err_set(&err, ERR_TIMEOUT, "watch of %s: the server does not answer", kind_name(watcher));
    reflector_note_watch(watcher->config.owner, &err);
}

static void wait_for_answer(struct watcher *watcher, int64_t now_ms)
{
    const struct reflector_timing *timing = watcher->config.timing;
    int64_t heard_ms = watcher->heard_ms, asked_ms = watcher->asked_ms;
    int64_t waited_ms = now_ms - (asked_ms > heard_ms ? asked_ms : heard_ms);
    if (waited_ms >= (int64_t)timing->lost_ms) {
        watcher_give_up(watcher, "the server does not answer");
        return;
    }
    if (waited_ms >= (int64_t)timing->doubt_ms && !watcher->is_doubted) {
        watcher_suspect(watcher);
    }
    set_pulse(watcher, (watcher->is_doubted ? timing->lost_ms : timing->doubt_ms) - waited_ms);
}

/* Requests the watch again from the same version: silence is no failure. */
static void watcher_reopen(struct watcher *watcher, const char *why)
{
    log_debug("watch requested again", LOG_STR("kind", kind_name(watcher)),
              LOG_STR("namespace", watcher->config.scope.ns), LOG_STR("reason", why));
    leave_watch(watcher);
    open_watch(watcher);
}

static void on_answered(void *data, bool is_there)
{
    struct watcher *watcher = data;
    watcher->asked_ms = 0;
    if (is_there) {
        watcher_on_sign_of_life(watcher);
    } else {
        watcher_reopen(watcher, "the server takes no more requests on this connection");
    }
}

static void watcher_ask(struct watcher *watcher, int64_t now_ms)
{
    const struct reflector_timing *timing = watcher->config.timing;
    int64_t silent_ms = now_ms - watcher->heard_ms;
    if (silent_ms < (int64_t)timing->silent_ms) {
        set_pulse(watcher, timing->silent_ms - silent_ms);
    } else if (kube_request_ask(watcher->request, on_answered)) {
        watcher->asked_ms = now_ms;
        set_pulse(watcher, timing->doubt_ms);
    } else if (silent_ms < (int64_t)watcher->renew_ms) {
        set_pulse(watcher, watcher->renew_ms - silent_ms);
    } else {
        watcher_reopen(watcher, "silent");
    }
}

static void on_pulse(struct ev_loop *loop UNUSED, ev_timer *w, int revents UNUSED)
{
    struct watcher *watcher = w->data;
    int64_t now_ms = clock_monotonic_ms();
    if (!watcher->is_open) {
        watcher_give_up(watcher, "no response from the server");
    } else if (watcher->asked_ms) {
        wait_for_answer(watcher, now_ms);
    } else {
        watcher_ask(watcher, now_ms);
    }
}

/* ---- Lifecycle ---- */

static void open_watch(struct watcher *watcher)
{
    static const struct kube_watch_callbacks callbacks = {
        .on_open = watcher_on_open, .on_frame = watcher_on_frame, .on_end = watcher_on_end};
    const struct watcher_config *config = &watcher->config;
    const struct reflector_timing *timing = config->timing;
    uint32_t spread_s = (uint32_t)(timing->watch_max_s - timing->watch_min_s);
    watcher->timeout_s = timing->watch_min_s + (int)(backoff_random() % (spread_s + 1));
    watcher->start_ms = clock_monotonic_ms();
    watcher->heard_ms = watcher->start_ms;
    watcher->asked_ms = 0;
    watcher->renew_ms = timing->renew_ms + backoff_random() % (timing->renew_ms / 5 + 1);
    watcher->is_open = false;
    watcher->is_doubted = false;
    log_debug("watch requested", LOG_STR("kind", kind_name(watcher)),
              LOG_STR("namespace", config->scope.ns), LOG_STR("resource_version", watcher->version),
              LOG_INT("timeout_s", watcher->timeout_s));
    watcher->request = kube_client_watch(config->client, config->resource, &config->scope,
                                         watcher->version, watcher->timeout_s, &callbacks, watcher);
    set_pulse(watcher, timing->open_ms);
}

struct watcher *watcher_start(const struct watcher_config *config, const char *version)
{
    struct watcher *watcher = xcalloc(1, sizeof(*watcher));
    watcher->config = *config;
    watcher->version = xstrdup(version);
    backoff_init(&watcher->backoff, config->timing->retry_first_ms, config->timing->retry_max_ms);
    timer_init(&watcher->retry, watcher_on_retry, watcher);
    timer_init(&watcher->pulse, on_pulse, watcher);
    /* Runs after the sockets of the same turn, so that data which arrived while the process was
     * stopped counts. */
    ev_set_priority(&watcher->pulse, EV_MINPRI);
    open_watch(watcher);
    return watcher;
}

void watcher_retry(struct watcher *watcher)
{
    if (ev_is_active(&watcher->retry)) {
        ev_timer_stop(watcher->config.loop, &watcher->retry);
        backoff_reset(&watcher->backoff);
        open_watch(watcher);
    }
}

const char *watcher_version(const struct watcher *watcher)
{
    return watcher->version;
}

void watcher_stop(struct watcher *watcher)
{
    if (!watcher) {
        return;
    }
    if (watcher->request) {
        kube_request_cancel(watcher->request);
    }
    ev_timer_stop(watcher->config.loop, &watcher->retry);
    ev_timer_stop(watcher->config.loop, &watcher->pulse);
    version_check_stop(watcher->check);
    free(watcher->version);
    free(watcher);
}
