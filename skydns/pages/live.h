/* Shows what is happening now: the page (`/`) and its figures as server-sent events, one a second
 * (`/live`; the man page documents their JSON). Reads counts that other threads keep anyway, and
 * runs only while the page is open somewhere. Main thread. */
#ifndef SKYDNS_PAGES_LIVE_H
#define SKYDNS_PAGES_LIVE_H

#include "common/base/buf.h"
#include "common/page/live_page.h"
#include "skydns/pages/metrics_table.h"

struct live;
struct top_names;

/* Makes it; the sources are borrowed, and set before the loop runs. */
struct live *live_new(struct ev_loop *loop, const struct metrics_sources *sources);

/* Frees it; call after freeing the server with these routes. NULL is fine. */
void live_free(struct live *live);

void live_routes(struct live *live, struct http_route routes[LIVE_PAGE_ROUTES]);

/* Limits the upstreams shown, those of the first zones: there may be 16,000, and an event has 256
 * KiB. */
enum { LIVE_NAMESERVERS_MAX = 64 };

enum { LIVE_CHANGES_MAX = 20 }; /* a screen of them */

/* Appends the JSON of one event of /live, one line without newline. */
void live_figures_write(const struct metrics_sources *sources, const struct top_names *top,
                        struct buf *out);

#endif
