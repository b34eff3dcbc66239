#include "kube2sky/api/scope_list_internal.h"

#include <stdlib.h>

#include "common/base/cleanup.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "kube2sky/api/reflector_internal.h"

struct scope_list {
    struct scope_list_config config;
    struct kube_request *request; /* NULL: ended */
    bool is_open;                 /* the owner knows */
    int64_t object_count;

    char *version;        /* the first page's; NULL: not known yet */
    char *continue_token; /* for the next page; NULL: the first */
};

static void request_page(struct scope_list *list);

static void scope_list_close(struct scope_list *list)
{
    if (list->request) {
        kube_request_cancel(list->request);
        list->request = NULL;
    }
}

static void scope_list_begin(void *data)
{
    struct scope_list *list = data;
    if (!list->is_open) {
        list->is_open = true;
        reflector_note_list_open(list->config.owner);
    }
}

/* ---- Pages ---- */

static void scope_list_on_object(void *data, struct kube_object *object)
{
    struct scope_list *list = data;
    list->object_count++;
    reflector_take_listed(list->config.owner, object);
}

static void on_bad_object(void *data, const struct err *err)
{
    struct scope_list *list = data;
    reflector_note_listed_bad(list->config.owner, err);
}

static void log_page(const struct scope_list *list, const struct kube_list_meta *meta)
{
    log_debug("list page received", LOG_STR("kind", list->config.resource->name),
              LOG_STR("namespace", list->config.scope.ns),
              LOG_STR("resource_version", meta->resource_version),
              LOG_INT("objects", list->object_count), LOG_INT("more", *meta->continue_token));
}

/* Takes a page's metadata. The watch starts at the first page's version, which later pages
 * share. */
static void take_meta(struct scope_list *list, struct kube_list_meta *meta)
{
    if (!list->version) {
        list->version = STEAL(meta->resource_version);
    }
    free(list->continue_token);
    list->continue_token = *meta->continue_token ? STEAL(meta->continue_token) : NULL;
}

static void on_page_end(void *data, struct kube_list_meta *meta, const struct kube_failure *failure)
{
    struct scope_list *list = data;
    list->request = NULL;
    if (failure) {
        reflector_fail_list(list->config.owner, failure);
        return;
    }
    log_page(list, meta);
    take_meta(list, meta);
    if (list->continue_token) {
        request_page(list);
    } else {
        reflector_end_list(list->config.owner, list->version);
    }
}

static void request_page(struct scope_list *list)
{
    static const struct kube_list_callbacks callbacks = {.on_open = scope_list_begin,
                                                         .on_object = scope_list_on_object,
                                                         .on_bad = on_bad_object,
                                                         .on_end = on_page_end};
    const struct scope_list_config *config = &list->config;
    log_debug("list page requested", LOG_STR("kind", config->resource->name),
              LOG_STR("namespace", config->scope.ns), LOG_INT("limit", config->page_objects),
              LOG_INT("is_first", !list->continue_token));
    list->request =
        kube_client_list(config->client, config->resource, &config->scope, config->page_objects,
                         list->continue_token ? list->continue_token : "", &callbacks, list);
}

/* ---- Events ---- */

/* Lists in pages after an event list failed: an account that may list may not watch. Events that
 * the server has sent are void: some of those objects may be gone since. */
static void list_otherwise(struct scope_list *list, const struct kube_failure *failure)
{
    log_debug("no list as events", LOG_STR("kind", list->config.resource->name),
              LOG_STR("reason", failure->err.msg));
    if (failure->status != 403) {
        kube_client_lacks_event_lists(list->config.client);
    }
    if (list->is_open) {
        struct kube_failure again = {0};
        err_set(&again.err, ERR_COMPACTED, "%s", failure->err.msg);
        reflector_fail_list(list->config.owner, &again);
    } else {
        request_page(list);
    }
}

static void fail_events(struct scope_list *list, struct kube_failure *bad)
{
    scope_list_close(list);
    err_wrap(&bad->err, bad->err.code, "%s", list->config.resource->name);
    reflector_fail_list(list->config.owner, bad);
}

/* Handles a bookmark. A server that ignores sendInitialEvents sends bookmarks, too. */
static void on_bookmark(struct scope_list *list, const struct kube_event *event)
{
    struct kube_failure failure = {0};
    const char *kind = list->config.resource->name;
    scope_list_close(list);
    if (event->is_initial_end) {
        log_debug("list received as events", LOG_STR("kind", kind),
                  LOG_STR("namespace", list->config.scope.ns),
                  LOG_STR("resource_version", event->resource_version),
                  LOG_INT("objects", list->object_count));
        reflector_end_list(list->config.owner, event->resource_version);
        return;
    }
    err_set(&failure.err, ERR_PROTOCOL, "list of %s: events without an end", kind);
    list_otherwise(list, &failure);
}

/* Handles an event; may free the list. */
static void take_event(struct scope_list *list, struct kube_event *event, struct kube_failure *bad)
{
    const struct scope_list_config *config = &list->config;
    switch (event->kind) {
    case KUBE_EVENT_UPSERT:
        scope_list_on_object(list, STEAL(event->object));
        break;
    case KUBE_EVENT_DELETE:
        reflector_note_listed_gone(config->owner, event->object);
        break;
    case KUBE_EVENT_BAD:
        reflector_note_listed_bad(config->owner, &bad->err);
        break;
    case KUBE_EVENT_BOOKMARK:
        on_bookmark(list, event);
        break;
    case KUBE_EVENT_ERROR:
        fail_events(list, bad);
        break;
    }
}

static void scope_list_on_frame(void *data, enum kube_encoding encoding, struct slice frame)
{
    struct scope_list *list = data;
    struct kube_event event = {0};
    struct kube_failure bad = {0};
    if (kube_decode_event(encoding, list->config.resource->kind, frame, &event, &bad.err) < 0) {
        fail_events(list, &bad);
    } else {
        take_event(list, &event, &bad);
    }
    kube_event_fini(&event);
}

/* Returns whether the server does not know event lists. Older servers refuse the parameter, or find
 * it invalid in a watch. Still older ones send everything, and then nothing more or the end. */
static bool is_unknown(const struct scope_list *list, const struct kube_failure *failure,
                       bool has_ended)
{
    return failure->status == 400 || failure->status == 422 ||
           (list->is_open && (has_ended || failure->err.code == ERR_TIMEOUT));
}

static void on_events_end(void *data, const struct kube_failure *failure)
{
    struct scope_list *list = data;
    struct kube_failure ended = {0};
    const bool has_ended = !failure;
    list->request = NULL;
    if (has_ended) {
        err_set(&ended.err, ERR_UNAVAILABLE, "list of %s: ended before everything was sent",
                list->config.resource->name);
        failure = &ended;
    }
    if (failure->status == 403 || is_unknown(list, failure, has_ended)) {
        list_otherwise(list, failure);
    } else {
        reflector_fail_list(list->config.owner, failure);
    }
}

static void request_events(struct scope_list *list)
{
    static const struct kube_watch_callbacks callbacks = {
        .on_open = scope_list_begin, .on_frame = scope_list_on_frame, .on_end = on_events_end};
    const struct scope_list_config *config = &list->config;
    log_debug("list requested as events", LOG_STR("kind", config->resource->name),
              LOG_STR("namespace", config->scope.ns));
    list->request =
        kube_client_list_events(config->client, config->resource, &config->scope, &callbacks, list);
}

/* ---- Lifecycle ---- */

struct scope_list *scope_list_start(const struct scope_list_config *config)
{
    struct scope_list *list = xcalloc(1, sizeof(*list));
    list->config = *config;
    if (kube_client_has_event_lists(config->client)) {
        request_events(list);
    } else {
        request_page(list);
    }
    return list;
}

void scope_list_stop(struct scope_list *list)
{
    if (list) {
        scope_list_close(list);
        free(list->version);
        free(list->continue_token);
        free(list);
    }
}
