#include <string.h>

#include "common/http/http_fetch.h"
#include "kube2sky/explain.h"

enum { TARGET_MAX = 4096 };

int explain_client(const struct addr *server, const char *id, struct err *err)
{
    struct buf target;
    struct err why;
    buf_init(&target, TARGET_MAX);
    buf_append_str(&target, "/explain?text&service=");
    http_fetch_append_value(&target, id);
    int r = http_fetch_print(server, buf_cstr(&target), &why);
    buf_fini(&target);
    if (r == ERR_REFUSED && strcmp(why.msg, "not found") == 0) {
        return err_set(err, r, "what answers there is no kube2sky that has /explain");
    }
    if (r == ERR_REFUSED) {
        return err_set(err, r, "%s", why.msg);
    }
    return r == 0 ? 0
                  : err_set(err, r,
                            "%s; -healthz-address and -healthz-port must be those of a running "
                            "kube2sky",
                            why.msg);
}
