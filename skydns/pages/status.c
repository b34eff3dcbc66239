#include "skydns/pages/status.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/duration.h"
#include "common/base/outage.h"
#include "common/etcd/etcd_store_id.h"
#include "skydns/pages/explain.h"
#include "skydns/pages/explain_page_internal.h"
#include "skydns/pages/record_page_internal.h"
#include "skydns/pages/search_page_internal.h"
#include "skydns/store/publisher.h"
#include "skydns/sync/store_keys.h"
#include "skydns/sync/store_sync.h"

static void on_healthz(void *data UNUSED, const struct http_request *request UNUSED,
                       struct http_reply *reply)
{
    buf_append_str(&reply->body, "ok");
}

/* True, with the reason, if answers may differ from what etcd holds. */
static bool explain_holding(const struct store_sync *sync, struct buf *out)
{
    const struct etcd_mirror_counts mirror = store_sync_counts(sync).mirror;
    if (mirror.is_holding_old) {
        buf_printf(out,
                   "etcd came back without its data or with older data; for %lld s answers have "
                   "come from records it lacks, since it has no new store key yet",
                   (long long)(mirror.holding_ms / 1000));
    }
    return mirror.is_holding_old;
}

static void append_missing_key(const struct store_keys *keys, const struct dname *domain,
                               struct buf *out)
{
    char text[DNAME_TEXT_MAX];
    char *key = etcd_store_key(slice_str(dname_to_text(domain, text)));
    buf_printf(out, "%s is incomplete: etcd has no %s (expected: %s)", text, key,
               store_keys_reason(keys, domain));
    free(key);
}

/* Appends each domain whose store key is missing. */
static void explain_missing(const struct store_sync *sync, struct buf *out)
{
    const struct store_keys *keys = store_sync_keys(sync);
    for (size_t i = 0; i < store_keys_count(keys); i++) {
        const struct dname *domain = store_keys_domain(keys, i);
        if (store_keys_is_missing(keys, domain)) {
            buf_append_str(out, out->len ? "; " : "");
            append_missing_key(keys, domain, out);
        }
    }
}

/* The same, true if names that are not found are SERVFAIL. */
static bool explain_incomplete(const struct store_sync *sync, struct buf *out)
{
    const struct store_keys *keys = store_sync_keys(sync);
    bool is_incomplete = false;
    for (size_t i = 0; i < store_keys_count(keys); i++) {
        is_incomplete = is_incomplete || store_sync_is_incomplete(sync, store_keys_domain(keys, i));
    }
    if (is_incomplete) {
        explain_missing(sync, out);
        buf_append_str(out, "; names that etcd lacks are SERVFAIL");
    }
    return is_incomplete;
}

/* The same, until what changed in etcd since the snapshot is known. First of all: etcd may be away
 * meanwhile, which would hide where the answers come from. */
static bool explain_snapshot(const struct store_sync *sync, struct buf *out)
{
    char age[DURATION_TEXT_MAX];
    int64_t heard_ms;
    bool is_from_snapshot = store_sync_is_from_snapshot(sync, &heard_ms);
    if (is_from_snapshot) {
        buf_printf(out, "answers from a snapshot of %s ago",
                   duration_text_s(clock_wall_s() - heard_ms / 1000, age));
    }
    return is_from_snapshot;
}

static void explain_unready(const struct metrics_sources *sources, struct buf *out)
{
    if (store_sync_store(sources->sync)) { /* of etcd, or of a snapshot */
        explain_missing(sources->sync, out);
    } else {
        buf_append_str(out, "etcd has not been read yet");
        outage_explain(sources->outage, out);
    }
    buf_append_char(out, '\n');
}

static void on_readiness(void *data, const struct http_request *request, struct http_reply *reply)
{
    const struct metrics_sources *sources = data;
    bool is_strict = http_request_arg(request, "strict") != NULL;
    if (sources->is_lame_duck) {
        reply->status = 503;
        buf_append_str(&reply->body,
                       "stopping: still answering, for clients that have not seen this\n");
    } else if (!store_sync_is_ready(sources->sync)) {
        reply->status = 503;
        explain_unready(sources, &reply->body);
    } else if (is_strict && (explain_snapshot(sources->sync, &reply->body) ||
                             outage_explain_overdue(sources->outage, &reply->body) ||
                             explain_holding(sources->sync, &reply->body) ||
                             explain_incomplete(sources->sync, &reply->body))) {
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

static void on_explain(void *data, const struct http_request *request, struct http_reply *reply)
{
    const struct metrics_sources *sources = data;
    const struct explanation *explanation;
    struct err err;
    const struct explain_query query = {
        .name = http_request_arg(request, "name"),
        .type = http_request_arg(request, "type"),
        .client = http_request_arg(request, "client"),
    };
    int r = explain(sources->explainer, sources->sync, sources->resolver,
                    publisher_newest_config(sources->publisher), &query, &explanation, &err);
    if (r < 0) {
        reply->status = 400;
        buf_printf(&reply->body, "%s\n", err.msg);
    } else if (http_request_arg(request, "text")) {
        explain_page_text(explanation, &reply->body);
    } else {
        reply->content_type = "application/json";
        explain_page_json(explanation, &reply->body);
    }
}

void status_routes(struct metrics_sources *sources, struct http_route routes[STATUS_ROUTES])
{
    routes[0] = (struct http_route){"/healthz", on_healthz, sources};
    routes[1] = (struct http_route){"/readiness", on_readiness, sources};
    routes[2] = (struct http_route){"/metrics", on_metrics, sources};
    routes[3] = (struct http_route){"/cache", on_cache, sources};
    routes[4] = (struct http_route){"/explain", on_explain, sources};
    routes[5] = (struct http_route){"/search", on_search, sources};
}

struct http_route status_metrics_route(struct metrics_sources *sources, const char *path)
{
    return (struct http_route){path, on_metrics, sources};
}
