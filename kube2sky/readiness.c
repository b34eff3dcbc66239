#include "kube2sky/readiness.h"

void readiness_api_state(struct readiness *readiness, enum kube_kind kind, const struct err *err)
{
    readiness->api[kind] = err ? *err : (struct err){.code = 0};
}

static void explain(const struct readiness *readiness, struct buf *out)
{
    const char *missing = inventory_missing(readiness->inventory);
    if (!missing) {
        reconciler_explain(readiness->reconciler, out);
        return;
    }
    buf_append_str(out, missing);
    for (size_t kind = 0; kind < KUBE_KIND_COUNT; kind++) {
        if (readiness->api[kind].code) {
            buf_printf(out, ": %s", readiness->api[kind].msg);
            break;
        }
    }
}

void readiness_handle(void *data, const struct http_request *request UNUSED,
                      struct http_reply *reply)
{
    const struct readiness *readiness = data;
    if (reconciler_has_synced(readiness->reconciler)) {
        buf_append_str(&reply->body, "ok");
    } else {
        reply->status = 503;
        explain(readiness, &reply->body);
    }
    buf_append_char(&reply->body, '\n');
}
