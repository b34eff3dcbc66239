/* What is happening now: the page (`/`) and its figures as server-sent events, one a second
 * (`/live`; the man page documents their JSON). Reads counts that other threads keep anyway: while
 * nobody reads, nothing here runs. Main thread. */
#ifndef SKYDNS_PAGES_LIVE_H
#define SKYDNS_PAGES_LIVE_H

#include "common/page/live_page.h"
#include "skydns/pages/metrics_table.h"

struct live;

/* The sources are borrowed, and set before the loop runs. */
struct live *live_new(struct ev_loop *loop, const struct metrics_sources *sources);

/* After the server with these routes. NULL is fine. */
void live_free(struct live *live);

void live_routes(struct live *live, struct http_route routes[LIVE_PAGE_ROUTES]);

#endif
