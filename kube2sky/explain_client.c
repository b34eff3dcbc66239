#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/http/http_fetch.h"
#include "kube2sky/explain.h"

/* The server answers immediately, with at most 16 MiB (http_server.h). */
enum { TIMEOUT_MS = 5000, REPLY_MAX = 17 * 1024 * 1024, TARGET_MAX = 4096 };

/* A socket of :: answers at the loopback address, as does one of 0.0.0.0. */
static struct addr address_of(const struct addr *server)
{
    struct ip loopback = {.family_bytes = 4, .bytes = {127, 0, 0, 1}};
    return addr_is_wildcard(server) ? addr_of_ip(&loopback, addr_port(server)) : *server;
}

static int print_page(const struct http_page *page, struct err *err)
{
    if (page->status == 404 && strncmp(page->body, "service ", 8) != 0) {
        return err_set(err, -EPROTO, "what answers there is no kube2sky that has /explain");
    }
    if (page->status != 200) {
        return err_set(err, -ENOENT, "%.*s", (int)strcspn(page->body, "\n"), page->body);
    }
    return fputs(page->body, stdout) < 0 ? err_set(err, -EIO, "cannot write to stdout") : 0;
}

int explain_client(const struct addr *server, const char *id, struct err *err)
{
    struct buf target, reply;
    struct http_page page;
    struct err why;
    buf_init(&target, TARGET_MAX);
    buf_init(&reply, REPLY_MAX);
    buf_append_str(&target, "/explain?text&service=");
    http_fetch_append_value(&target, id);
    const struct http_fetch fetch = {
        .server = address_of(server), .target = buf_cstr(&target), .timeout_ms = TIMEOUT_MS};
    int r = http_fetch(&fetch, &reply, &page, &why);
    if (r < 0) {
        (void)err_set(err, r,
                      "%s; -healthz-address and -healthz-port must be those of a running kube2sky",
                      why.msg);
    } else {
        r = print_page(&page, err);
    }
    buf_fini(&target);
    buf_fini(&reply);
    return r;
}
