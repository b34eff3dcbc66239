#include "kube2sky/explain.h"

#include "common/base/json_text.h"

static void reject(const char *service, bool is_text, struct buf *out)
{
    if (is_text) {
        buf_printf(out, "service: %s: " EXPLAIN_EXPECTED "\n", *service ? "no such text" : "none");
        return;
    }
    buf_append_str(out, "{\"service\":");
    json_text_string(out, slice_str(service));
    buf_append_str(out, ",\"error\":\"" EXPLAIN_EXPECTED "\"}\n");
}

static int status_of(const struct explanation *x)
{
    if (!explain_is_absent(x)) {
        return 200;
    }
    return x->is_followed && !x->is_listed ? 503 : 404;
}

void explain_page_handle(void *data, const struct http_request *request, struct http_reply *reply)
{
    const char *service = http_request_arg(request, "service");
    bool is_text = http_request_arg(request, "text") != NULL;
    char id[EXPLAIN_ID_MAX + 1];
    struct explanation x;
    reply->content_type = is_text ? reply->content_type : "application/json";
    if (!service || !explain_parse(service, id)) {
        reply->status = 400;
        reject(service ? service : "", is_text, &reply->body);
        return;
    }
    explain_gather(data, id, &x);
    reply->status = status_of(&x);
    if (is_text) {
        explain_text(&x, &reply->body);
    } else {
        explain_json(&x, &reply->body);
    }
    explain_fini(&x);
}
