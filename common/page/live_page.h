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

/* Sets a handler's reply to 200 with the page; 405 for other methods than GET and HEAD. */
void page_reply(const struct page *page, const struct http_request *request,
                struct http_reply *reply);

struct live_page;

enum { LIVE_PAGE_ROUTES = 2 };

/* Creates the routes. The page is borrowed; `events` says on which loop, and how an event is
 * built. */
struct live_page *live_page_new(const struct page *page, const struct http_events_config *events);

/* Free the server with these routes first. NULL is fine. */
void live_page_free(struct live_page *live);

void live_page_routes(struct live_page *live, struct http_route routes[LIVE_PAGE_ROUTES]);

#endif
