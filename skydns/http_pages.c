#include "skydns/http_pages.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "common/http/http_server.h"
#include "skydns/listen/passed_sockets.h"
#include "skydns/pages/live.h"
#include "skydns/pages/missing_names.h"
#include "skydns/pages/missing_page.h"
#include "skydns/pages/status.h"
#include "skydns/past/past_desk.h"
#include "skydns/publish/engine_config.h"
#include "skydns/publish/publisher.h"
#include "skydns/watch/wait_pages.h"
#include "skydns/watch/watch_page.h"

/* ---- The pages that are for few ---- */

/* Lists the pages for few, whether or not this server has them. */
static const struct http_restricted page_access_table[] = {
    {.path = "/clients"}, {.path = "/missing"}, {.path = "/history"},
    {.path = "/watch"},   {.path = "/flush"},   {.argument = "at"}, /* answers of the past */
};

static const struct network loopbacks[PAGE_ACCESS_LOOPBACKS] = {
    {.ip = {.family_bytes = 4, .bytes = {127}}, .prefix_bits = 8},
    {.ip = {.family_bytes = 16, .bytes = {[15] = 1}}, .prefix_bits = 128},
};

void page_access_set(struct page_access *access, const struct network *networks, size_t count)
{
    assert(count <= HTTP_ACCESS_NETWORKS_MAX); /* option_lists.c has the limit */
    memcpy(access->networks, loopbacks, sizeof(loopbacks));
    if (count > 0) {
        memcpy(access->networks + PAGE_ACCESS_LOOPBACKS, networks, count * sizeof(*networks));
    }
    access->rule = (struct http_access){
        .restricted = page_access_table,
        .restricted_count = ARRAY_LEN(page_access_table),
        .networks = access->networks,
        .network_count = PAGE_ACCESS_LOOPBACKS + count,
        .refusal = "not for this client: expected one on loopback, or in a network of "
                   "-http-allow\n",
    };
}

/* ---- The servers ---- */

struct http_pages {
    struct http_server *server; /* NULL: off */
    struct http_server *local;  /* the same pages at -http-socket; NULL: off */
    struct http_route routes[PAST_DESK_ROUTES + STATUS_ROUTES + LIVE_PAGE_ROUTES + 4];
    struct past_desk *past;         /* NULL: off */
    struct live *live;              /* NULL: off */
    struct missing_page missing;    /* names NULL: off */
    struct http_waiters *waiters;   /* of /wait; NULL: off */
    struct watch_page *watch;       /* NULL: off */
    struct flush_page *flush;       /* NULL: off */
    struct http_server *prometheus; /* NULL: off */
    struct addr prometheus_address;
    struct addr address;
    const struct passed_sockets *passed; /* while opening */
    struct http_route prometheus_route;
    char *skydns_prefix;
    struct http_hosts hosts;
    struct page_access access; /* to the pages; the metrics have no limits */
};

static bool http_pages_is_our_name(const void *data, struct slice text)
{
    const struct metrics_sources *sources = data;
    struct dname name;
    return dname_from_text(text, &name) &&
           engine_config_zone(publisher_newest_config(sources->publisher), &name) != NULL;
}

/* Opens a server at the address, or at the socket there that was passed. */
static int open_http_server(const struct http_pages *pages, struct ev_loop *loop,
                            const struct addr *address, char code, const struct http_route *routes,
                            size_t count, struct http_server **ret_server, struct err *err)
{
    int passed = passed_sockets_find(pages->passed, code, address, 0);
    int fd = passed >= 0 ? passed_sockets_share(passed, err) : http_server_listen(address, err);
    if (fd < 0) {
        return fd;
    }
    *ret_server = http_server_of(loop, fd, routes, count);
    if (passed >= 0) {
        http_server_pause(*ret_server);
    }
    return 0;
}

/* Serves metrics as the original SkyDNS did: on every address, including IPv6 where available. */
static int open_prometheus(struct http_pages *pages, struct ev_loop *loop, const struct options *o,
                           struct metrics_sources *sources, struct err *err)
{
    struct addr any = {.v6 = {.sin6_family = AF_INET6, .sin6_port = htons(o->prometheus_port)},
                       .len = sizeof(any.v6)};
    pages->skydns_prefix = xasprintf("%s_%s_", o->prometheus_namespace, o->prometheus_subsystem);
    pages->prometheus_route = status_metrics_route(sources, o->prometheus_path);
    int r = open_http_server(pages, loop, &any, PASSED_METRICS, &pages->prometheus_route, 1,
                             &pages->prometheus, err);
    if (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL) {
        any = (struct addr){.v4 = {.sin_family = AF_INET, .sin_port = htons(o->prometheus_port)},
                            .len = sizeof(any.v4)};
        r = open_http_server(pages, loop, &any, PASSED_METRICS, &pages->prometheus_route, 1,
                             &pages->prometheus, err);
    }
    pages->prometheus_address = any;
    return r < 0 ? err_wrap(err, r, "environment variable PROMETHEUS_PORT") : 0;
}

static int open_pages(struct http_pages *pages, struct ev_loop *loop, const struct options *o,
                      struct metrics_sources *sources, struct etcd *etcd, struct err *err)
{
    struct http_route *next = pages->routes;
    pages->past = past_desk_new(loop, sources, etcd);
    sources->past = past_desk_counts(pages->past);
    past_desk_routes(pages->past, next); /* before the page of the present */
    next += PAST_DESK_ROUTES;
    status_routes(sources, next);
    next += STATUS_ROUTES;
    pages->live = live_new(loop, sources);
    live_routes(pages->live, next);
    next += LIVE_PAGE_ROUTES;
    pages->missing = (struct missing_page){sources, missing_names_new(loop, sources)};
    sources->waiters = pages->waiters = wait_page_new(loop, sources);
    sources->watch = pages->watch = watch_page_new(loop, sources);
    sources->watched = watch_page_count;
    next[0] = missing_page_route(&pages->missing);
    next[1] = wait_page_route(pages->waiters);
    next[2] = watch_page_route(pages->watch);
    pages->flush = flush_page_new(loop, sources);
    next[3] = flush_page_route(pages->flush);
    pages->address = o->http_address;
    int r = open_http_server(pages, loop, &o->http_address, PASSED_PAGES, pages->routes,
                             ARRAY_LEN(pages->routes), &pages->server, err);
    return r < 0 ? err_wrap(err, r, "flag -http-addr") : 0;
}

static int open_local(struct http_pages *pages, struct ev_loop *loop, const char *path,
                      struct err *err)
{
    int fd = http_server_listen_unix(path, err);
    if (fd < 0) {
        return err_wrap(err, fd, "flag -http-socket");
    }
    pages->local = http_server_of(loop, fd, pages->routes, ARRAY_LEN(pages->routes));
    http_server_limit_hosts(pages->local, &pages->hosts);
    return 0;
}

int http_pages_open(struct ev_loop *loop, const struct options *options,
                    struct metrics_sources *sources, struct etcd *etcd,
                    const struct passed_sockets *passed, struct http_pages **ret_pages,
                    struct err *err)
{
    struct http_pages *pages = xcalloc(1, sizeof(*pages));
    pages->passed = passed;
    pages->hosts = (struct http_hosts){options->http_hosts, http_pages_is_our_name, sources};
    http_pages_set_access(pages, options);
    int r = options->prometheus_port ? open_prometheus(pages, loop, options, sources, err) : 0;
    if (r == 0 && options->has_http) {
        r = open_pages(pages, loop, options, sources, etcd, err);
    }
    if (r == 0 && *options->http_socket) {
        r = open_local(pages, loop, options->http_socket, err);
    }
    pages->passed = NULL;
    if (r < 0) {
        http_pages_free(pages);
        return r;
    }
    if (pages->prometheus) {
        http_server_limit_hosts(pages->prometheus, &pages->hosts);
    }
    if (pages->server) {
        http_server_limit_hosts(pages->server, &pages->hosts);
        http_server_limit_access(pages->server, &pages->access.rule);
    }
    *ret_pages = pages;
    return 0;
}

void http_pages_serve(struct http_pages *pages)
{
    if (pages->server) {
        http_server_resume(pages->server);
    }
    if (pages->prometheus) {
        http_server_resume(pages->prometheus);
    }
}

void http_pages_offer(const struct http_pages *pages, struct passed_sockets *sockets)
{
    if (pages->server) {
        passed_sockets_add(sockets, PASSED_PAGES, http_server_fd(pages->server), &pages->address);
    }
    if (pages->prometheus) {
        passed_sockets_add(sockets, PASSED_METRICS, http_server_fd(pages->prometheus),
                           &pages->prometheus_address);
    }
}

void http_pages_leave(struct http_pages *pages)
{
    if (pages->server) {
        http_server_leave(pages->server);
    }
    if (pages->prometheus) {
        http_server_leave(pages->prometheus);
    }
}

void http_pages_set_access(struct http_pages *pages, const struct options *options)
{
    page_access_set(&pages->access, options->http_allowed, options->http_allowed_count);
}

void http_pages_free(struct http_pages *pages)
{
    if (pages) {
        http_server_free(pages->local);
        http_server_free(pages->server);
        http_server_free(pages->prometheus);
        past_desk_free(pages->past);
        live_free(pages->live);
        missing_names_free(pages->missing.names);
        http_waiters_free(pages->waiters);
        watch_page_free(pages->watch);
        flush_page_free(pages->flush);
        free(pages->skydns_prefix);
        free(pages);
    }
}

const char *http_pages_skydns_prefix(const struct http_pages *pages)
{
    return pages->skydns_prefix;
}
