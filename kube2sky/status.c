#include "kube2sky/status.h"

#include <errno.h>
#include <stdlib.h>

#include "common/base/outage.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "common/http/http_admission.h"
#include "common/http/http_server.h"
#include "common/page/live_page.h"
#include "kube2sky/config_source.h"
#include "kube2sky/explain.h"
#include "kube2sky/kube_source.h"
#include "kube2sky/live_figures.h"
#include "kube2sky/naming/inventory.h"
#include "kube2sky/plan_page.h"
#include "kube2sky/reconcile/reconciler.h"
#include "kube2sky/service_wait.h"

enum { ROUTES = 6 + LIVE_PAGE_ROUTES };

/* Is built from kube2sky/page. */
extern const struct page kube2sky_page;

struct status {
    struct http_route routes[ROUTES];
    struct http_server *http;
    struct http_events *live;
    struct http_waiters *waiters;
    struct http_hosts hosts;
};

static bool kube2sky_status_is_our_name(const void *data, struct slice text)
{
    const struct metrics_sources *sources = data;
    struct dname name, domain;
    return dname_from_text(text, &name) && dname_from_text(slice_str(sources->domain), &domain) &&
           dname_is_within(&name, &domain);
}

static void kube2sky_status_on_healthz(void *data UNUSED, const struct http_request *request UNUSED,
                                       struct http_reply *reply)
{
    buf_append_str(&reply->body, "ok\n");
}

void status_explain_missing(const struct metrics_sources *sources, struct buf *out)
{
    const char *missing = inventory_missing(sources->inventory);
    if (!missing) {
        reconciler_explain(sources->reconciler, out);
        return;
    }
    buf_append_str(out, missing);
    outage_explain(kube_source_outage(sources->kube_source), out);
}

static bool explain_config(const struct metrics_sources *sources, struct buf *out)
{
    return sources->config_source && config_source_explain(sources->config_source, out);
}

/* Appends a reason and returns true if some namespaces are hidden although they list who may see
 * them. */
static bool kube2sky_status_explain_left_out(const struct metrics_sources *sources, struct buf *out)
{
    size_t left_out = kube_source_left_out(sources->kube_source);
    if (left_out > 0) {
        buf_printf(out,
                   "visible-to lists of %zu namespaces are left out, the longest ones: all "
                   "together are more than 4 MiB",
                   left_out);
    }
    return left_out > 0;
}

bool status_is_ready(const struct metrics_sources *sources, bool is_strict, struct buf *out)
{
    if (!reconciler_has_synced(sources->reconciler)) {
        status_explain_missing(sources, out);
        return false;
    }
    return !is_strict ||
           !(outage_explain_overdue(sources->etcd_outage, out) ||
             outage_explain_overdue(kube_source_outage(sources->kube_source), out) ||
             reconciler_explain_trouble(sources->reconciler, out) || explain_config(sources, out) ||
             kube2sky_status_explain_left_out(sources, out));
}

static void kube2sky_status_on_readiness(void *data, const struct http_request *request,
                                         struct http_reply *reply)
{
    bool is_strict = http_request_arg(request, "strict") != NULL;
    if (status_is_ready(data, is_strict, &reply->body)) {
        buf_append_str(&reply->body, "ok");
    } else {
        reply->status = 503;
    }
    buf_append_char(&reply->body, '\n');
}

static void kube2sky_status_on_metrics(void *data, const struct http_request *request UNUSED,
                                       struct http_reply *reply)
{
    reply->content_type = metrics_content_type;
    kube2sky_metrics_table_write(data, &reply->body);
}

static void build_figures(void *data, struct buf *line)
{
    const struct metrics_sources *sources = data;
    kube2sky_live_figures_write(sources, line);
}

/* Listens at the address. A socket of :: accepts IPv4, too; a kernel without IPv6 has none. */
static int listen_at(struct status *status, struct ev_loop *loop, const struct addr *address,
                     struct err *err)
{
    const struct addr v4 = {
        .v4 = {.sin_family = AF_INET, .sin_port = htons(addr_port(address))},
        .len = sizeof(v4.v4),
    };
    int r = http_server_new(loop, address, status->routes, ROUTES, &status->http, err);
    if ((r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL) && addr_is_wildcard(address)) {
        r = http_server_new(loop, &v4, status->routes, ROUTES, &status->http, err);
    }
    const char *flag = r == -EADDRNOTAVAIL ? "-healthz-address" : "-healthz-port";
    return r < 0 ? err_wrap(err, r, "flag %s", flag) : 0;
}

int status_new(const struct status_config *config, struct status **ret_status, struct err *err)
{
    struct metrics_sources *sources = config->sources;
    struct status *status = xcalloc(1, sizeof(*status));
    status->routes[0] = (struct http_route){"/healthz", kube2sky_status_on_healthz, NULL};
    status->routes[1] = (struct http_route){"/readiness", kube2sky_status_on_readiness, sources};
    status->routes[2] = (struct http_route){"/metrics", kube2sky_status_on_metrics, sources};
    status->routes[3] = (struct http_route){"/plan", plan_page_handle, sources};
    status->routes[4] = (struct http_route){"/explain", explain_page_handle, sources};
    sources->waiters = status->waiters = service_wait_new(config->loop, sources);
    status->routes[5] = service_wait_route(sources);
    status->live = http_events_new(&(struct http_events_config){
        .loop = config->loop, .build = build_figures, .data = sources});
    live_page_routes(&kube2sky_page, status->live, &status->routes[ROUTES - LIVE_PAGE_ROUTES]);
    int r = listen_at(status, config->loop, &config->address, err);
    if (r < 0) {
        http_events_free(status->live);
        http_waiters_free(status->waiters);
        free(status);
        return r;
    }
    status->hosts = (struct http_hosts){config->http_hosts, kube2sky_status_is_our_name, sources};
    http_server_limit_hosts(status->http, &status->hosts);
    *ret_status = status;
    return 0;
}

void status_free(struct status *status)
{
    if (status) {
        http_server_free(status->http);
        http_events_free(status->live);
        http_waiters_free(status->waiters);
        free(status);
    }
}
