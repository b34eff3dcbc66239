/* Opens the HTTP servers: the pages (-http-addr, -http-socket), and SkyDNS's metrics
 * (PROMETHEUS_PORT). Main thread.
 *
 * The pages that show what clients ask, and what was, are for a few: the clients on this machine's
 * loopback, and those of -http-allow. A new page of this kind is one row of the table in
 * http_pages.c. The HTTP server applies it before any handler (http_admission.h), so handlers need
 * not ask. */
#ifndef SKYDNS_HTTP_PAGES_H
#define SKYDNS_HTTP_PAGES_H

#include <ev.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/http/http_admission.h"
#include "skydns/settings/options.h"

struct etcd;
struct http_pages;
struct metrics_sources;
struct passed_sockets;

/* Opens the servers that the options want. The sources are borrowed, and set before the loop runs;
 * the options and etcd are borrowed, too. Shares the sockets of `passed` that fit, and does not
 * read these before http_pages_serve; NULL: none. */
int http_pages_open(struct ev_loop *loop, const struct options *options,
                    struct metrics_sources *sources, struct etcd *etcd,
                    const struct passed_sockets *passed, struct http_pages **ret_pages,
                    struct err *err) MUST_CHECK;
void http_pages_serve(struct http_pages *pages);

/* Adds the TCP sockets, borrowed, to those that another process may take over; and leaves them to
 * it. Open connections go on, and so does -http-socket. */
void http_pages_offer(const struct http_pages *pages, struct passed_sockets *sockets);
void http_pages_leave(struct http_pages *pages);

/* Lets these networks, beside loopback, have all pages from now on. */
void http_pages_set_access(struct http_pages *pages, const struct options *options);

void http_pages_free(struct http_pages *pages); /* NULL is fine */

/* Returns the prefix of the names of SkyDNS's metrics; NULL: they are off. Borrowed. */
const char *http_pages_skydns_prefix(const struct http_pages *pages);

/* ---- The pages that are for few ---- */

enum { PAGE_ACCESS_LOOPBACKS = 2 }; /* 127.0.0.0/8 and ::1 */

/* Lies still while a server has its rule. */
struct page_access {
    struct http_access rule; /* for http_server_limit_access; its networks are below */
    struct network networks[PAGE_ACCESS_LOOPBACKS + HTTP_ACCESS_NETWORKS_MAX];
};

/* Sets the networks of -http-allow, at most HTTP_ACCESS_NETWORKS_MAX. The next request sees it. */
void page_access_set(struct page_access *access, const struct network *networks, size_t count);

#endif
