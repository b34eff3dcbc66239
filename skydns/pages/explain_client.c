#include "skydns/pages/explain_client.h"

#include <string.h>

#include "common/base/buf.h"
#include "common/http/http_fetch.h"
#include "skydns/pages/explain.h"

enum {
    TARGET_MAX = 16384,
    COMPARED_MAX = 3 * HTTP_FETCH_PRINTED_MAX, /* two pages, each line with two more bytes */
    MOMENT_MAX = 256,
};

/* Fetches the page, as it was at this moment: "" is now. */
static int fetch_explanation(const struct addr *server, const struct explain_query *query,
                             const char *at, struct buf *page, struct err *err)
{
    struct buf target;
    struct err why;
    buf_init(&target, TARGET_MAX);
    buf_append_str(&target, "/explain?text&name=");
    http_fetch_append_value(&target, query->name);
    buf_append_str(&target, "&type=");
    http_fetch_append_value(&target, query->type);
    buf_append_str(&target, *query->client ? "&client=" : "");
    http_fetch_append_value(&target, query->client);
    buf_append_str(&target, *at ? "&at=" : "");
    http_fetch_append_value(&target, at);
    int r = http_fetch_page(server, buf_cstr(&target), NULL, page, &why);
    buf_fini(&target);
    if (r == ERR_REFUSED || r == ERR_NOT_FOUND) {
        return err_set(err, r == ERR_REFUSED ? ERR_USAGE : r, "%s", why.msg);
    }
    return r == 0 ? 0 : err_set(err, r, "%s; -http-addr must be that of a running skydns", why.msg);
}

/* Fetches the explanations of two moments, and appends what differs. */
static int fetch_differences(const struct addr *server, const struct explain_query *query,
                             const char *separator, struct buf *out, struct err *err)
{
    struct buf moment, before, after;
    buf_init(&moment, MOMENT_MAX);
    buf_init(&before, HTTP_FETCH_PRINTED_MAX);
    buf_init(&after, HTTP_FETCH_PRINTED_MAX);
    buf_append(&moment, query->at, (size_t)(separator - query->at));
    int r = fetch_explanation(server, query, buf_cstr(&moment), &before, err);
    if (r == 0) {
        r = fetch_explanation(server, query, separator + strlen(EXPLAIN_CLIENT_RANGE), &after, err);
    }
    if (r == 0) {
        explain_compare_texts(buf_cstr(&before), buf_cstr(&after), out);
    }
    buf_fini(&moment);
    buf_fini(&before);
    buf_fini(&after);
    return r;
}

int pages_explain_client(const struct addr *server, const struct explain_query *query,
                         struct err *err)
{
    const char *separator = strstr(query->at, EXPLAIN_CLIENT_RANGE);
    struct buf out;
    buf_init(&out, COMPARED_MAX);
    int r = separator ? fetch_differences(server, query, separator, &out, err)
                      : fetch_explanation(server, query, query->at, &out, err);
    r = r == 0 ? http_fetch_put(&out, err) : r;
    buf_fini(&out);
    return r;
}
