/* A program's page (`GET /`) and its figures as events (`GET /live`): two routes of its HTTP
 * server. While nobody reads the events, nothing runs (common/http/http_events.h). On the loop's
 * thread. */
#ifndef COMMON_PAGE_LIVE_PAGE_H
#define COMMON_PAGE_LIVE_PAGE_H

#include "common/http/http_events.h"
#include "common/http/http_server.h"
#include "common/page/page.h"

struct live_page;

enum { LIVE_PAGE_ROUTES = 2 };

/* The page is borrowed; `events` says on which loop, and how an event is built. */
struct live_page *live_page_new(const struct page *page, const struct http_events_config *events);

/* After the server with these routes. NULL is fine. */
void live_page_free(struct live_page *live);

void live_page_routes(struct live_page *live, struct http_route routes[LIVE_PAGE_ROUTES]);

#endif
