#include "skydns/status.h"

#include "common/attributes.h"
#include "common/outage.h"
#include "skydns/store_sync.h"

static void on_healthz(void *data UNUSED, const struct http_request *request UNUSED,
                       struct http_reply *reply)
{
    buf_append_str(&reply->body, "ok");
}

static void on_readiness(void *data, const struct http_request *request, struct http_reply *reply)
{
    const struct metrics_sources *sources = data;
    bool is_strict = http_request_arg(request, "strict") != NULL;
    if (!store_sync_is_ready(sources->sync)) {
        const char *why = outage_why(sources->outage);
        reply->status = 503;
        buf_printf(&reply->body, "the records have not been read from etcd yet%s%s\n",
                   *why ? ": " : "", why);
    } else if (is_strict && outage_explain_overdue(sources->outage, &reply->body)) {
        reply->status = 503;
        buf_append_char(&reply->body, '\n');
    } else {
        buf_append_str(&reply->body, "ok");
    }
}

static void on_metrics(void *data, const struct http_request *request UNUSED,
                       struct http_reply *reply)
{
    reply->content_type = metrics_content_type;
    metrics_table_write(data, &reply->body);
}

void status_routes(struct metrics_sources *sources, struct http_route routes[STATUS_ROUTES])
{
    routes[0] = (struct http_route){"/healthz", on_healthz, sources};
    routes[1] = (struct http_route){"/readiness", on_readiness, sources};
    routes[2] = (struct http_route){"/metrics", on_metrics, sources};
}
