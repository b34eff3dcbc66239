/* Writes GET /missing: the names of our domains that are asked for and do not exist, aliases of
 * names that do not, and upstreams that time out, within the last hour, as JSON. The man page
 * documents its fields. Main thread. */
#ifndef SKYDNS_PAGES_MISSING_PAGE_H
#define SKYDNS_PAGES_MISSING_PAGE_H

#include "common/http/http_server.h"

struct metrics_sources;
struct missing_names;

struct missing_page {
    const struct metrics_sources *sources;
    struct missing_names *names;
};

/* Returns the route; the page is borrowed. */
struct http_route missing_page_route(struct missing_page *page);

#endif
