#include "kube2sky/api/reflector.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/backoff.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "kube2sky/api/endpoints_source_internal.h"
#include "kube2sky/api/kube_client.h"
#include "kube2sky/api/reflector_internal.h"
#include "kube2sky/api/scope_list_internal.h"
#include "kube2sky/api/watcher_internal.h"

static const struct reflector_timing default_timing = {
    .watch_min_s = 5 * 60,
    .watch_max_s = 10 * 60,
    .silent_ms = 10 * 1000,
    .doubt_ms = 5 * 1000,
    .lost_ms = 20 * 1000,
    .renew_ms = 75 * 1000,
    .open_ms = 30 * 1000,
    .relist_ms = 55 * 60 * 1000,
    .retry_first_ms = 100,
    .retry_max_ms = 5000,
    .refused_max_ms = 60 * 1000,
    .calm_ms = 30 * 1000,
    .refused_ms = 3 * 60 * 1000,
    .cold_ms = 5 * 1000,
    .probe_ms = 60 * 1000,
};

/* Follows one namespace, or all of them. */
struct reflector_part {
    struct reflector *reflector;
    char *version;           /* version of its list, where its watch starts; NULL: not listed yet */
    struct watcher *watcher; /* NULL while listing */
    bool is_open;
    struct err err; /* why the watch is down; code 0 = none */
};

struct reflector {
    struct reflector_config config;
    struct reflector_timing timing;
    const struct kube_resource *resource; /* the resource of the current or last list */
    struct reflector_part *parts;
    struct kube_scope *scopes; /* one per part */
    size_t part_count;

    struct backoff backoff;
    int64_t failed_ms; /* when the last failure, and the delay after it, ended */
    bool has_failed;
    ev_timer retry;          /* runs while WAITING */
    ev_timer relist;         /* runs while WATCHING */
    struct scope_list *list; /* set while LISTING; else NULL */
    size_t listing;          /* index of the part being listed */
    int64_t object_count;    /* in the current list */
    bool has_begun;          /* list_begin was called for the current list */
    unsigned expired_lists;  /* lists in a row that outlived the server's history */

    struct endpoints_switch *endpoints; /* NULL: another kind, which has one source */

    bool has_state;   /* state() has been called */
    struct err state; /* with this error; code 0 = NULL */
};

static void list_part(struct reflector *reflector);

/* ---- Errors and retries ---- */

static void reflector_report(struct reflector *reflector, const struct kube_resource *resource,
                             const struct err *err)
{
    const struct err now = err ? *err : (struct err){0};
    if (reflector->has_state && now.code != ERR_REFUSED && now.code == reflector->state.code &&
        strcmp(now.msg, reflector->state.msg) == 0) {
        return;
    }
    reflector->has_state = true;
    reflector->state = now;
    reflector->config.state(reflector->config.data, reflector->config.kind, resource->name, err);
}

static void forget_list(struct reflector *reflector)
{
    for (size_t i = 0; i < reflector->part_count; i++) {
        free(reflector->parts[i].version);
        reflector->parts[i].version = NULL;
    }
    reflector->listing = 0;
    reflector->has_begun = false;
    reflector->object_count = 0;
}

static void reflector_stop_watchers(struct reflector *reflector)
{
    for (size_t i = 0; i < reflector->part_count; i++) {
        struct reflector_part *part = &reflector->parts[i];
        watcher_stop(part->watcher);
        part->watcher = NULL;
        part->is_open = false;
        part->err = (struct err){0};
    }
}

static void begin_list(struct reflector *reflector, const struct kube_resource *resource)
{
    ev_timer_stop(reflector->config.loop, &reflector->relist);
    forget_list(reflector);
    reflector->resource = resource;
    list_part(reflector);
}

static void list_again(struct reflector *reflector)
{
    const struct kube_resource *resource =
        reflector->endpoints ? endpoints_switch_ask(reflector->endpoints) : reflector->resource;
    if (resource) {
        begin_list(reflector, resource);
    }
}

static void reflector_on_retry(struct ev_loop *loop UNUSED, ev_timer *w, int revents UNUSED)
{
    struct reflector *reflector = w->data;
    list_again(reflector);
}

/* Returns whether nothing has failed for a while, and counts this failure. */
static bool was_calm(struct reflector *reflector)
{
    int64_t now_ms = clock_monotonic_ms();
    bool was_calm = !reflector->has_failed ||
                    now_ms - reflector->failed_ms >= (int64_t)reflector->timing.calm_ms;
    reflector->has_failed = true;
    reflector->failed_ms = now_ms;
    if (was_calm) {
        backoff_reset(&reflector->backoff);
    }
    return was_calm;
}

/* Waits before it lists again. The delay does not count as time without failures. */
static void reflector_retry_later(struct reflector *reflector, const struct kube_failure *failure)
{
    uint32_t delay_ms =
        watcher_retry_ms(&reflector->timing, &reflector->backoff, failure->err.code);
    if (reflector->endpoints) {
        delay_ms = endpoints_switch_shorten(reflector->endpoints, delay_ms);
    }
    delay_ms = delay_ms > failure->retry_after_ms ? delay_ms : failure->retry_after_ms;
    reflector->failed_ms += delay_ms;
    log_debug("list retry scheduled", LOG_STR("kind", reflector->resource->name),
              LOG_INT("retry_ms", delay_ms));
    timer_arm_ms(reflector->config.loop, &reflector->retry, delay_ms);
}

static void report_failure(struct reflector *reflector, const struct kube_failure *failure)
{
    struct endpoints_reason reason = {reflector->resource, &failure->err};
    if (reflector->endpoints) {
        reason = endpoints_switch_reason(reflector->endpoints, reflector->resource, failure);
    }
    reflector_report(reflector, reason.resource, reason.err);
}

/* Ends the list or watch after a failure. Lost history is normal after an absence: it is not
 * reported, and everything is listed again at once. If something has failed shortly before, it
 * waits, since a server could answer so each time. A refusal with a fallback resource is not
 * reported, either. */
static void reflector_fail(struct reflector *reflector, const struct kube_failure *failure)
{
    const struct kube_resource *other =
        reflector->endpoints
            ? endpoints_switch_failed(reflector->endpoints, reflector->resource, failure)
            : NULL;
    log_debug("list or watch ended", LOG_STR("kind", reflector->resource->name),
              LOG_STR("reason", failure->err.msg));
    if (other) {
        log_debug("source switched", LOG_STR("from", reflector->resource->name),
                  LOG_STR("to", other->name), LOG_STR("path", other->group_path),
                  LOG_INT("status", failure->status));
        begin_list(reflector, other);
        return;
    }
    bool is_expired = failure->err.code == ERR_COMPACTED;
    bool is_first = was_calm(reflector);
    if (is_expired && is_first) {
        log_debug("listing again at once", LOG_STR("kind", reflector->resource->name));
        list_again(reflector);
        return;
    }
    if (!is_expired) {
        report_failure(reflector, failure);
    }
    reflector_retry_later(reflector, failure);
}

void reflector_list_source(struct reflector *reflector, const struct kube_resource *resource)
{
    reflector_stop_watchers(reflector);
    begin_list(reflector, resource);
}

/* ---- Watching ---- */

static void log_event(const struct reflector *reflector, const struct kube_event *event)
{
    static const char *const names[] = {
        [KUBE_EVENT_UPSERT] = "upsert",     [KUBE_EVENT_DELETE] = "delete",
        [KUBE_EVENT_BOOKMARK] = "bookmark", [KUBE_EVENT_ERROR] = "error",
        [KUBE_EVENT_BAD] = "bad",
    };
    const struct kube_object *object = event->object;
    log_debug("API event", LOG_STR("kind", reflector->resource->name),
              LOG_STR("event", names[event->kind]), LOG_STR("namespace", object ? object->ns : ""),
              LOG_STR("name", object ? object->name : ""),
              LOG_STR("resource_version", event->resource_version));
}

void reflector_take_event(struct reflector_part *part, struct kube_event *event,
                          const struct err *err)
{
    struct reflector *reflector = part->reflector;
    const struct reflector_config *config = &reflector->config;
    enum kube_kind kind = reflector->resource->kind;
    log_event(reflector, event);
    switch (event->kind) {
    case KUBE_EVENT_UPSERT:
        config->upsert(config->data, STEAL(event->object));
        break;
    case KUBE_EVENT_DELETE:
        config->remove(config->data, kind, event->object->ns, event->object->name,
                       event->object->resource_version);
        break;
    case KUBE_EVENT_BAD:
        config->bad(config->data, kind, err);
        break;
    case KUBE_EVENT_BOOKMARK:
    case KUBE_EVENT_ERROR:
        break;
    }
}

/* Reports when one watch is down, and when all run. */
void reflector_note_watch(struct reflector_part *part, const struct err *err)
{
    struct reflector *reflector = part->reflector;
    const struct err *wrong = NULL;
    bool is_open = true;
    part->is_open = !err;
    part->err = err ? *err : (struct err){0};
    for (size_t i = 0; i < reflector->part_count; i++) {
        const struct reflector_part *other = &reflector->parts[i];
        is_open = is_open && other->is_open;
        wrong = !wrong && other->err.code != 0 ? &other->err : wrong;
    }
    if (is_open && reflector->endpoints) {
        endpoints_switch_watched(reflector->endpoints);
    }
    if (is_open || wrong) {
        reflector_report(reflector, reflector->resource, wrong);
    }
}

void reflector_note_went_back(struct reflector_part *part, const struct err *err)
{
    struct reflector *reflector = part->reflector;
    reflector->config.went_back(reflector->config.data, reflector->config.kind, err);
}

void reflector_lose_watch(struct reflector_part *part, const struct kube_failure *failure)
{
    struct reflector *reflector = part->reflector;
    reflector_stop_watchers(reflector);
    reflector_fail(reflector, failure);
}

/* Returns whether refused slices are listed again: another resource may replace them. */
static bool is_replaceable(const struct reflector *reflector)
{
    return reflector->config.kind == KUBE_ENDPOINTS &&
           reflector->config.endpoints_mode != ENDPOINTS_ENDPOINTS &&
           reflector->resource == kube_resource_of(KUBE_SLICE);
}

static void reflector_start_watchers(struct reflector *reflector)
{
    for (size_t i = 0; i < reflector->part_count; i++) {
        struct reflector_part *part = &reflector->parts[i];
        const struct watcher_config config = {
            .loop = reflector->config.loop,
            .client = reflector->config.client,
            .resource = reflector->resource,
            .scope = reflector->scopes[i],
            .timing = &reflector->timing,
            .opened = &reflector->config.counts->watches,
            .is_replaceable = is_replaceable(reflector),
            .compares_versions = reflector->config.went_back != NULL,
            .owner = part,
        };
        part->watcher = watcher_start(&config, part->version);
    }
}

/* ---- Listing ---- */

void reflector_note_list_open(struct reflector *reflector)
{
    if (!reflector->has_begun) {
        reflector->has_begun = true;
        reflector->config.list_begin(reflector->config.data, reflector->resource->kind);
    }
}

void reflector_take_listed(struct reflector *reflector, struct kube_object *object)
{
    reflector->object_count++;
    reflector->config.upsert(reflector->config.data, object);
}

void reflector_note_listed_gone(struct reflector *reflector, const struct kube_object *object)
{
    reflector->config.remove(reflector->config.data, object->kind, object->ns, object->name, "");
}

void reflector_note_listed_bad(struct reflector *reflector, const struct err *err)
{
    reflector->config.bad(reflector->config.data, reflector->resource->kind, err);
}

static void forget_scope_list(struct reflector *reflector)
{
    scope_list_stop(reflector->list);
    reflector->list = NULL;
}

/* Lists again after a failure. A list that takes longer than the server holds its revision is
 * requested in one page. */
void reflector_fail_list(struct reflector *reflector, const struct kube_failure *failure)
{
    forget_scope_list(reflector);
    if (failure->err.code == ERR_COMPACTED) {
        reflector->expired_lists++;
    }
    forget_list(reflector);
    reflector_fail(reflector, failure);
}

static void on_relist(struct ev_loop *loop UNUSED, ev_timer *w, int revents UNUSED)
{
    reflector_relist(w->data);
}

static void relist_later(struct reflector *reflector)
{
    uint32_t relist_ms = reflector->timing.relist_ms;
    if (relist_ms) {
        relist_ms += backoff_random() % (relist_ms / 5 + 1);
        timer_arm_ms(reflector->config.loop, &reflector->relist, relist_ms);
    }
}

static void finish_list(struct reflector *reflector)
{
    log_debug("list complete", LOG_STR("kind", reflector->resource->name),
              LOG_INT("objects", reflector->object_count),
              LOG_STR("resource_version", reflector->parts[0].version));
    if (reflector->endpoints) {
        endpoints_switch_listed(reflector->endpoints, reflector->resource);
    }
    counter_add(&reflector->config.counts->lists, 1);
    reflector->expired_lists = 0;
    reflector->config.list_end(reflector->config.data, reflector->resource->kind);
    reflector_start_watchers(reflector);
    forget_list(reflector);
    relist_later(reflector);
}

void reflector_end_list(struct reflector *reflector, const char *version)
{
    reflector->parts[reflector->listing++].version = xstrdup(version);
    forget_scope_list(reflector);
    if (reflector->listing < reflector->part_count) {
        list_part(reflector);
    } else {
        finish_list(reflector);
    }
}

static void list_part(struct reflector *reflector)
{
    reflector->list = scope_list_start(&(struct scope_list_config){
        .client = reflector->config.client,
        .resource = reflector->resource,
        .scope = reflector->scopes[reflector->listing],
        .page_objects = reflector->expired_lists > 1 ? 0 : KUBE_PAGE_OBJECTS,
        .owner = reflector,
    });
}

/* ---- Lifecycle ---- */

struct reflector *reflector_start(const struct reflector_config *config)
{
    struct reflector *reflector = xcalloc(1, sizeof(*reflector));
    reflector->config = *config;
    reflector->timing = config->timing ? *config->timing : default_timing;
    reflector->config.timing = NULL; /* points to a copy from now on */
    reflector->part_count = config->namespace_count ? config->namespace_count : 1;
    reflector->parts = xcalloc(reflector->part_count, sizeof(*reflector->parts));
    reflector->scopes = xcalloc(reflector->part_count, sizeof(*reflector->scopes));
    for (size_t i = 0; i < reflector->part_count; i++) {
        reflector->parts[i].reflector = reflector;
        reflector->scopes[i] = (struct kube_scope){
            .ns = config->namespace_count ? config->namespaces[i] : "",
            .label_selector = config->label_selector ? config->label_selector : "",
            .object = config->object,
        };
    }
    backoff_init(&reflector->backoff, reflector->timing.retry_first_ms,
                 reflector->timing.retry_max_ms);
    timer_init(&reflector->retry, reflector_on_retry, reflector);
    timer_init(&reflector->relist, on_relist, reflector);
    reflector->resource = kube_resource_of(config->kind);
    if (config->kind == KUBE_ENDPOINTS) {
        reflector->endpoints = endpoints_switch_new(
            &(struct endpoints_switch_config){.owner = reflector,
                                              .reflector = &reflector->config,
                                              .timing = &reflector->timing,
                                              .scopes = reflector->scopes,
                                              .scope_count = reflector->part_count});
    }
    list_again(reflector);
    return reflector;
}

static void forget_request(struct reflector *reflector)
{
    forget_scope_list(reflector);
    ev_timer_stop(reflector->config.loop, &reflector->retry);
    ev_timer_stop(reflector->config.loop, &reflector->relist);
    reflector_stop_watchers(reflector);
}

void reflector_relist(struct reflector *reflector)
{
    forget_request(reflector);
    list_again(reflector);
}

const struct kube_resource *reflector_resource(const struct reflector *reflector)
{
    return reflector->resource;
}

const char *reflector_version(const struct reflector *reflector)
{
    assert(reflector->part_count == 1);
    const struct watcher *watcher = reflector->parts[0].watcher;
    return watcher ? watcher_version(watcher) : NULL;
}

void reflector_retry(struct reflector *reflector)
{
    if (ev_is_active(&reflector->retry)) {
        ev_timer_stop(reflector->config.loop, &reflector->retry);
        backoff_reset(&reflector->backoff);
        list_again(reflector);
    }
    for (size_t i = 0; i < reflector->part_count; i++) {
        if (reflector->parts[i].watcher) {
            watcher_retry(reflector->parts[i].watcher);
        }
    }
}

void reflector_stop(struct reflector *reflector)
{
    if (!reflector) {
        return;
    }
    forget_request(reflector);
    endpoints_switch_free(reflector->endpoints);
    forget_list(reflector);
    free(reflector->parts);
    free(reflector->scopes);
    free(reflector);
}
