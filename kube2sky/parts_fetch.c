#include "kube2sky/parts_fetch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/backoff.h"
#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/key_table.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"

/* Delays after a failure, which the reflectors report. */
enum { FAILED_FIRST_MS = PARTS_FETCH_PAUSE_MS, FAILED_MAX_MS = 60 * 1000 };

static_assert(PARTS_FETCH_NAMED_MAX * 64 + 64 < KUBE_SELECTOR_MAX, "the names fit into a selector");

struct wanted_service {
    struct slice name;
    bool is_asked; /* the list under way names it */
};

struct fetch_namespace {
    struct slice name;
    struct parts_fetch *fetch;
    struct key_table services; /* wanted Services */
    size_t waiting;            /* wanted Services that no list names */
    int64_t due_ms;            /* when the next list may begin */
    int64_t start_ms;          /* when the list under way began */
    struct backoff backoff;
    struct kube_request *request; /* NULL: no list is under way */
    const struct kube_resource *resource;
};

struct parts_fetch {
    struct parts_fetch_config config;
    struct key_table namespaces;
    size_t running;
    ev_timer turn;
};

/* ---- Turns ---- */

/* Returns the namespace whose Services have waited longest; NULL: none waits. */
static struct fetch_namespace *next_namespace(const struct parts_fetch *fetch)
{
    struct fetch_namespace *next = NULL, *ns;
    for (size_t at = 0; (ns = key_table_next(&fetch->namespaces, &at)); at++) {
        bool is_waiting = ns->waiting > 0 && !ns->request;
        next = is_waiting && (!next || ns->due_ms < next->due_ms) ? ns : next;
    }
    return next;
}

static void set_turn(struct parts_fetch *fetch)
{
    const struct fetch_namespace *next = next_namespace(fetch);
    ev_timer_stop(fetch->config.loop, &fetch->turn);
    if (next && fetch->running < PARTS_FETCHES_MAX) {
        int64_t wait_ms = next->due_ms - clock_monotonic_ms();
        ev_now_update(fetch->config.loop);
        timer_arm_ms(fetch->config.loop, &fetch->turn, wait_ms);
    }
}

static void free_namespace(struct fetch_namespace *ns)
{
    key_table_fini_things(&ns->services);
    if (ns->request) {
        kube_request_cancel(ns->request);
    }
    free(ns);
}

/* Forgets namespaces that want nothing, and were not listed lately. */
static void forget_idle(struct parts_fetch *fetch, int64_t now_ms)
{
    struct fetch_namespace *ns;
    size_t at = 0;
    while ((ns = key_table_next(&fetch->namespaces, &at))) {
        if (ns->services.count || ns->request || now_ms < ns->due_ms) {
            at++;
        } else {
            (void)key_table_take(&fetch->namespaces, ns->name);
            free_namespace(ns);
        }
    }
}

/* ---- A list ---- */

/* Ends a list: forgets the Services that it named, or lets them wait again. */
static void settle_asked(struct fetch_namespace *ns, bool is_listed)
{
    struct wanted_service *service;
    size_t at = 0;
    while ((service = key_table_next(&ns->services, &at))) {
        if (service->is_asked && is_listed) {
            (void)key_table_take(&ns->services, service->name);
            free(service);
            continue;
        }
        ns->waiting += service->is_asked;
        service->is_asked = false;
        at++;
    }
}

static void parts_fetch_end_list(struct fetch_namespace *ns, const struct err *err)
{
    struct parts_fetch *fetch = ns->fetch;
    int64_t now_ms = clock_monotonic_ms(), took_ms = now_ms - ns->start_ms;
    int64_t pause_ms = PARTS_FETCH_SHARE * took_ms;
    ns->request = NULL;
    fetch->running--;
    settle_asked(ns, !err);
    if (err) {
        log_debug("list of parts failed", LOG_STR("namespace", ns->name.ptr),
                  LOG_STR("reason", err->msg));
        pause_ms = backoff_next_ms(&ns->backoff, backoff_random());
    } else {
        backoff_reset(&ns->backoff);
    }
    ns->due_ms = ns->start_ms + PARTS_FETCH_PAUSE_MS;
    ns->due_ms = now_ms + pause_ms > ns->due_ms ? now_ms + pause_ms : ns->due_ms;
    set_turn(fetch);
}

static void parts_fetch_on_object(void *data, struct kube_object *object)
{
    struct fetch_namespace *ns = data;
    const char *name = object->kind == KUBE_SLICE ? object->slice.service : object->name;
    const struct wanted_service *service = key_table_find(&ns->services, slice_str(name));
    if (service && service->is_asked && strcmp(object->ns, ns->name.ptr) == 0) {
        ns->fetch->config.part(ns->fetch->config.data, object);
    } else {
        kube_object_free(object);
    }
}

static void parts_fetch_on_end(void *data, struct kube_list_meta *meta UNUSED,
                               const struct kube_failure *failure)
{
    parts_fetch_end_list(data, failure ? &failure->err : NULL);
}

static bool parts_fetch_is_plain(struct slice name)
{
    bool is_plain = name.len > 0 && name.len < 64;
    for (size_t i = 0; i < name.len && is_plain; i++) {
        char c = name.ptr[i];
        is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    }
    return is_plain;
}

/* Marks waiting Services as named by the list. Appends them all as a selector, unless they are too
 * many for one. Returns the only one, or NULL. */
static const struct wanted_service *ask_waiting(struct fetch_namespace *ns, struct buf *selector)
{
    struct wanted_service *service, *one = NULL;
    bool are_named = ns->waiting <= PARTS_FETCH_NAMED_MAX;
    const char *before = "kubernetes.io/service-name in (";
    bool is_only = ns->waiting == 1;
    for (size_t at = 0; (service = key_table_next(&ns->services, &at)); at++) {
        are_named = are_named && parts_fetch_is_plain(service->name);
        if (are_named) {
            buf_append_str(selector, before);
            buf_append_slice(selector, service->name);
        }
        before = ",";
        service->is_asked = true;
        one = service;
    }
    buf_append_str(selector, ")");
    if (!are_named) {
        buf_clear(selector);
    }
    ns->waiting = 0;
    return is_only && are_named ? one : NULL;
}

static void start_list(struct fetch_namespace *ns)
{
    static const struct kube_list_callbacks callbacks = {.on_object = parts_fetch_on_object,
                                                         .on_end = parts_fetch_on_end};
    struct parts_fetch *fetch = ns->fetch;
    struct buf selector;
    buf_init(&selector, KUBE_SELECTOR_MAX);
    ns->resource = fetch->config.resource(fetch->config.data, ns->name.ptr);
    const struct wanted_service *only = ask_waiting(ns, &selector);
    bool is_slice = ns->resource->kind == KUBE_SLICE;
    const struct kube_scope scope = {
        .ns = ns->name.ptr,
        .label_selector = is_slice ? buf_cstr(&selector) : "",
        .object = is_slice || !only ? NULL : only->name.ptr,
    };
    log_debug("listing parts of services", LOG_STR("kind", ns->resource->name),
              LOG_STR("namespace", ns->name.ptr), LOG_STR("selector", scope.label_selector));
    ns->start_ms = clock_monotonic_ms();
    ns->request =
        kube_client_list(fetch->config.client, ns->resource, &scope, 0, "", &callbacks, ns);
    fetch->running++;
    buf_fini(&selector);
}

static void parts_fetch_on_turn(struct ev_loop *loop UNUSED, ev_timer *w, int revents UNUSED)
{
    struct parts_fetch *fetch = w->data;
    int64_t now_ms = clock_monotonic_ms();
    struct fetch_namespace *next;
    while (fetch->running < PARTS_FETCHES_MAX && (next = next_namespace(fetch)) &&
           next->due_ms <= now_ms) {
        start_list(next);
    }
    forget_idle(fetch, now_ms);
    set_turn(fetch);
}

/* ---- For kube_source.c ---- */

static struct fetch_namespace *get_namespace(struct parts_fetch *fetch, struct slice name)
{
    struct fetch_namespace *ns = key_table_find(&fetch->namespaces, name);
    if (!ns) {
        ns = key_table_add(&fetch->namespaces, name, sizeof(*ns));
        ns->fetch = fetch;
        key_table_init_keyed(&ns->services);
        backoff_init(&ns->backoff, FAILED_FIRST_MS, FAILED_MAX_MS);
    }
    return ns;
}

void parts_fetch_want(struct parts_fetch *fetch, const char *ns_name, const char *name)
{
    struct fetch_namespace *ns = get_namespace(fetch, slice_str(ns_name));
    struct wanted_service *service = key_table_find(&ns->services, slice_str(name));
    int64_t soon_ms = clock_monotonic_ms() + PARTS_FETCH_GATHER_MS;
    if (!service) {
        service = key_table_add(&ns->services, slice_str(name), sizeof(*service));
        ns->waiting++;
    } else if (service->is_asked) {
        service->is_asked = false;
        ns->waiting++;
    }
    if (ns->waiting == 1 && ns->due_ms < soon_ms) {
        ns->due_ms = soon_ms;
    }
    set_turn(fetch);
}

struct parts_fetch *parts_fetch_new(const struct parts_fetch_config *config)
{
    struct parts_fetch *fetch = xcalloc(1, sizeof(*fetch));
    fetch->config = *config;
    key_table_init_keyed(&fetch->namespaces);
    timer_init(&fetch->turn, parts_fetch_on_turn, fetch);
    return fetch;
}

void parts_fetch_free(struct parts_fetch *fetch)
{
    struct fetch_namespace *ns;
    if (!fetch) {
        return;
    }
    ev_timer_stop(fetch->config.loop, &fetch->turn);
    for (size_t at = 0; (ns = key_table_next(&fetch->namespaces, &at)); at++) {
        free_namespace(ns);
    }
    key_table_fini(&fetch->namespaces);
    free(fetch);
}
