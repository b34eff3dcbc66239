#include "kube2sky/service_wait.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/xalloc.h"
#include "common/http/http_head.h"
#include "kube2sky/api/kube_object.h"
#include "kube2sky/explain.h"
#include "kube2sky/kube_source.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/reconcile/reconciler.h"

enum { VERSION_MAX = 40 }; /* 2^128 has 39 digits */

struct service_wait_item {
    char id[EXPLAIN_ID_MAX + 1]; /* "default/web" */
    char ns[EXPLAIN_PART_MAX + 1];
    char version[VERSION_MAX + 1];
};

/* Returns what is not known at the wanted version yet, "Services"; NULL: everything is. */
static const char *service_wait_unseen(const struct metrics_sources *sources,
                                       const struct service_wait_item *item,
                                       const struct kube_object *service)
{
    const char *own = service && !service->is_garbled ? service->resource_version : NULL;
    const struct kube_source *from = sources->kube_source;
    if (!kube_version_has_reached(own, item->version) &&
        !kube_version_has_reached(kube_source_version(from, KUBE_SERVICE, item->ns),
                                  item->version)) {
        return "Services";
    }
    const bool has_slices = service && !service->is_garbled && service->service.is_headless;
    return has_slices && !kube_version_has_reached(
                             kube_source_version(from, KUBE_ENDPOINTS, item->ns), item->version)
               ? "endpoints"
               : NULL;
}

static void service_wait_explain_unseen(const struct metrics_sources *sources,
                                        const struct service_wait_item *item, const char *what,
                                        struct buf *text)
{
    const enum kube_kind kind = *what == 'S' ? KUBE_SERVICE : KUBE_ENDPOINTS;
    const char *version = kube_source_version(sources->kube_source, kind, item->ns);
    buf_printf(text, "service %s: %s at resourceVersion %s have not been seen", item->id, what,
               item->version);
    if (version) {
        buf_printf(text, "; the latest is %s\n", version);
    } else {
        buf_append_str(text, "; they are not followed now\n");
    }
}

static enum http_wait_state service_wait_look(void *data, void *look_item, struct buf *text)
{
    const struct metrics_sources *sources = data;
    const struct service_wait_item *item = look_item;
    const struct kube_object *service =
        inventory_find(sources->inventory, KUBE_SERVICE, slice_str(item->id));
    const char *unseen = service_wait_unseen(sources, item, service);
    int64_t revision;
    struct buf why;
    if (unseen) {
        if (text) {
            service_wait_explain_unseen(sources, item, unseen, text);
        }
        return HTTP_WAIT_MORE;
    }
    buf_init(&why, HTTP_WAIT_TEXT_MAX);
    const bool is_done = reconciler_has_written(sources->reconciler, slice_str(item->id), &revision,
                                                text ? &why : NULL);
    if (text && is_done) {
        buf_printf(text, "{\"revision\":%" PRId64 "%s}\n", revision,
                   service ? "" : ",\"exists\":false");
    } else if (text) {
        buf_printf(text, "service %s: its records are not all in etcd: %s\n", item->id,
                   buf_cstr(&why));
    }
    buf_fini(&why);
    return is_done ? HTTP_WAIT_DONE : HTTP_WAIT_MORE;
}

/* ---- Requests ---- */

/* Fills in the item. False: the reply says what is expected. */
static bool service_wait_parse(const struct metrics_sources *sources,
                               const struct http_request *request, struct service_wait_item *item,
                               struct http_reply *reply)
{
    const char *service = http_request_arg(request, "service");
    const char *version = http_request_arg(request, "resourceVersion");
    reply->status = HTTP_BAD_REQUEST;
    if (!service || !explain_parse(service, item->id)) {
        buf_printf(&reply->body, "service `%s`: " EXPLAIN_EXPECTED "\n", service ? service : "");
        return false;
    }
    if (!version || !kube_version_is_number(version) || strlen(version) > VERSION_MAX) {
        buf_printf(&reply->body,
                   "resourceVersion `%s`: expected a resource version, such as 1234\n",
                   version ? version : "");
        return false;
    }
    memcpy(item->version, version, strlen(version) + 1);
    memcpy(item->ns, item->id, strcspn(item->id, "/")); /* the rest is 0 */
    const bool is_followed = explain_follows_namespace(sources, item->id);
    if (!is_followed || !explain_selects_namespace(sources, item->id)) {
        reply->status = HTTP_NOT_FOUND;
        buf_printf(&reply->body, "service `%s`: its namespace is %s\n", item->id,
                   is_followed ? "not matched by --namespace-labels" : "none of --namespaces");
        return false;
    }
    reply->status = HTTP_OK;
    return true;
}

static void service_wait_handle(void *data, const struct http_request *request,
                                struct http_reply *reply)
{
    const struct metrics_sources *sources = data;
    if (!http_request_reads(request, reply)) {
        return;
    }
    struct service_wait_item *item = xcalloc(1, sizeof(*item));
    if (service_wait_parse(sources, request, item, reply)) {
        http_waiters_reply(sources->waiters, request, reply, item);
    } else {
        free(item);
    }
}

struct http_waiters *service_wait_new(struct ev_loop *loop, struct metrics_sources *sources)
{
    return http_waiters_new(
        &(struct http_waiters_config){.loop = loop, .look = service_wait_look, .data = sources});
}

struct http_route service_wait_route(struct metrics_sources *sources)
{
    return (struct http_route){"/wait", service_wait_handle, sources};
}
