#include "skydns/pages/explain_client.h"

#include "common/base/buf.h"
#include "common/http/http_fetch.h"
#include "skydns/pages/explain.h"

enum { TARGET_MAX = 16384 };

int pages_explain_client(const struct addr *server, const struct explain_query *query,
                         struct err *err)
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
    buf_append_str(&target, *query->at ? "&at=" : "");
    http_fetch_append_value(&target, query->at);
    int r = http_fetch_print(server, buf_cstr(&target), NULL, &why);
    buf_fini(&target);
    if (r == ERR_REFUSED || r == ERR_NOT_FOUND) {
        return err_set(err, r == ERR_REFUSED ? ERR_USAGE : r, "%s", why.msg);
    }
    return r == 0 ? 0 : err_set(err, r, "%s; -http-addr must be that of a running skydns", why.msg);
}
