/* A program's page (`GET /`) and its figures as events (`GET /live`): two routes of its HTTP
 * server.
 *
 * While the events have no reader, nothing runs (common/http/http_events.h). On the loop's
 * thread. */
#ifndef COMMON_PAGE_LIVE_PAGE_H
#define COMMON_PAGE_LIVE_PAGE_H

#include <stddef.h>

#include "common/http/http_events.h"
#include "common/http/http_server.h"

/* Holds a program's page: one HTML document with its style and script inside, built into the
 * program (common/page/build) from its own folder `page` and what all pages share here. Loads
 * nothing else; the browser talks to this server alone. */
struct page {
    const unsigned char *html;
    size_t len;
    const char *fields; /* in the response: its policy, and PAGE_FIELDS */
};

/* Make the browser fetch the page again each time, since another version may have come; never in a
 * frame, never as another type. No other site learns its address, which may have a name that was
 * queried. */
#define PAGE_FIELDS                       \
    "Cache-Control: no-cache\r\n"         \
    "X-Content-Type-Options: nosniff\r\n" \
    "Referrer-Policy: no-referrer\r\n"    \
    "Cross-Origin-Resource-Policy: same-origin\r\n"

enum { LIVE_PAGE_ROUTES = 2 };

/* Fills in the routes; the page and the events are borrowed until the server is freed. */
void live_page_routes(const struct page *page, struct http_events *events,
                      struct http_route routes[LIVE_PAGE_ROUTES]);

#endif
