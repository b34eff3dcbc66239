/* Keeps the pages that show what clients ask, and what was, to a few: the clients on this machine's
 * loopback, and those of -http-allow. A new page of this kind is one row of the table here.
 *
 * The HTTP server applies it before any handler (http_access.h), so handlers need not ask. Main
 * thread. */
#ifndef SKYDNS_PAGES_PAGE_ACCESS_H
#define SKYDNS_PAGES_PAGE_ACCESS_H

#include <stddef.h>

#include "common/base/addr.h"
#include "common/http/http_access.h"

enum { PAGE_ACCESS_LOOPBACKS = 2 }; /* 127.0.0.0/8 and ::1 */

/* Lies still while a server has its rule. */
struct page_access {
    struct http_access rule; /* for http_server_limit_access; its networks are below */
    struct network networks[PAGE_ACCESS_LOOPBACKS + HTTP_ACCESS_NETWORKS_MAX];
};

/* Sets the networks of -http-allow, at most HTTP_ACCESS_NETWORKS_MAX. The next request sees it. */
void page_access_set(struct page_access *access, const struct network *networks, size_t count);

#endif
