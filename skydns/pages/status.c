#include "skydns/pages/status.h"

#include "common/base/attributes.h"
#include "skydns/pages/client_figures.h"
#include "skydns/pages/explain.h"
#include "skydns/pages/explain_page.h"
#include "skydns/pages/readiness_internal.h"
#include "skydns/pages/record_page_internal.h"
#include "skydns/pages/search_page_internal.h"
#include "skydns/publish/publisher.h"
#include "skydns/sync/store_sync.h"

static void status_on_healthz(void *data UNUSED, const struct http_request *request UNUSED,
                              struct http_reply *reply)
{
    buf_append_str(&reply->body, "ok");
}

static void status_on_readiness(void *data, const struct http_request *request,
                                struct http_reply *reply)
{
    if (readiness_explain(data, http_request_arg(request, "strict") != NULL, &reply->body)) {
        reply->status = 503;
        buf_append_char(&reply->body, '\n');
    } else {
        buf_append_str(&reply->body, "ok");
    }
}

static void status_on_metrics(void *data, const struct http_request *request UNUSED,
                              struct http_reply *reply)
{
    reply->content_type = metrics_content_type;
    skydns_metrics_table_write(data, &reply->body);
}

static void on_serving(void *data, const struct http_request *request UNUSED,
                       struct http_reply *reply)
{
    const struct metrics_sources *sources = data;
    if (sources->serving == SERVING_HERE) {
        buf_append_str(&reply->body, "ok");
    } else {
        reply->status = 503;
        buf_append_str(&reply->body, "another skydns answers at these addresses\n");
    }
}

static void on_cache(void *data, const struct http_request *request UNUSED,
                     struct http_reply *reply)
{
    const struct metrics_sources *sources = data;
    record_page_stream(sources->sync, reply);
}

static void on_search(void *data, const struct http_request *request, struct http_reply *reply)
{
    const struct metrics_sources *sources = data;
    search_page(sources->sync, http_request_arg(request, "q"), reply);
}

static void on_clients(void *data, const struct http_request *request UNUSED,
                       struct http_reply *reply)
{
    const struct metrics_sources *sources = data;
    reply->content_type = "application/json";
    client_figures_write_page(sources->clients,
                              publisher_newest_config(sources->publisher)->settings.autopath,
                              &reply->body);
}

void status_explain(void *data, const struct http_request *request, struct http_reply *reply)
{
    const struct metrics_sources *sources = data;
    const struct explanation *explanation;
    struct err err;
    const struct explain_query query = explain_page_query(request);
    if (explainer_explain(sources->explainer, &query, &explanation, &err) < 0) {
        explain_page_refuse(&err, reply);
    } else {
        explain_page_reply(explanation, http_request_arg(request, "text") != NULL, reply);
    }
}

void status_routes(struct metrics_sources *sources, struct http_route routes[STATUS_ROUTES])
{
    routes[0] = (struct http_route){"/healthz", status_on_healthz, sources};
    routes[1] = (struct http_route){"/readiness", status_on_readiness, sources};
    routes[2] = (struct http_route){"/metrics", status_on_metrics, sources};
    routes[3] = (struct http_route){"/cache", on_cache, sources};
    routes[4] = (struct http_route){"/search", on_search, sources};
    routes[5] = (struct http_route){"/clients", on_clients, sources};
    routes[6] = (struct http_route){"/serving", on_serving, sources};
}

struct http_route status_metrics_route(struct metrics_sources *sources, const char *path)
{
    return (struct http_route){path, status_on_metrics, sources};
}
