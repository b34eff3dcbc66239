#include "kube2sky/readiness.h"

static void explain(const struct readiness *readiness, struct buf *out)
{
    const char *missing = inventory_missing(readiness->inventory);
    const char *why = outage_why(readiness->api);
    if (!missing) {
        reconciler_explain(readiness->reconciler, out);
        return;
    }
    buf_printf(out, "%s%s%s", missing, *why ? ": " : "", why);
}

void readiness_handle(void *data, const struct http_request *request, struct http_reply *reply)
{
    const struct readiness *readiness = data;
    struct buf *out = &reply->body;
    bool is_strict = http_request_arg(request, "strict") != NULL;
    if (!reconciler_has_synced(readiness->reconciler)) {
        reply->status = 503;
        explain(readiness, out);
    } else if (is_strict && (outage_explain_overdue(readiness->etcd, out) ||
                             outage_explain_overdue(readiness->api, out))) {
        reply->status = 503;
    } else {
        buf_append_str(out, "ok");
    }
    buf_append_char(out, '\n');
}
