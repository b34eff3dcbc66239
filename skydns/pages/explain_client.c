#include "skydns/pages/explain_client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/http/http_fetch.h"
#include "skydns/pages/explain.h"

/* The server answers immediately, with at most 16 MiB (http_server.h). */
enum { TIMEOUT_MS = 5000, REPLY_MAX = 17 * 1024 * 1024, TARGET_MAX = 16384 };

static int print_page(const struct http_page *page, struct err *err)
{
    if (page->status != 200) {
        return err_set(err, ERR_USAGE, "%.*s", (int)strcspn(page->body, "\n"), page->body);
    }
    return fputs(page->body, stdout) < 0 ? err_set(err, -EIO, "cannot write to stdout") : 0;
}

static int fetch(const struct addr *server, const char *target, struct buf *reply,
                 struct http_page *ret_page, struct err *err)
{
    const struct http_fetch fetch = {.server = *server, .target = target, .timeout_ms = TIMEOUT_MS};
    struct err why;
    int r = http_fetch(&fetch, reply, ret_page, &why);
    return r == 0 ? 0 : err_set(err, r, "%s; -http-addr must be that of a running skydns", why.msg);
}

int explain_client(const struct addr *server, const struct explain_query *query, struct err *err)
{
    struct buf target, reply;
    struct http_page page;
    buf_init(&target, TARGET_MAX);
    buf_init(&reply, REPLY_MAX);
    buf_append_str(&target, "/explain?text&name=");
    http_fetch_append_value(&target, query->name);
    buf_append_str(&target, "&type=");
    http_fetch_append_value(&target, query->type);
    buf_append_str(&target, *query->client ? "&client=" : "");
    http_fetch_append_value(&target, query->client);
    int r = fetch(server, buf_cstr(&target), &reply, &page, err);
    if (r == 0) {
        r = print_page(&page, err);
    }
    buf_fini(&target);
    buf_fini(&reply);
    return r;
}
