/* kube2sky's page (`GET /`, built from kube2sky/page) and its figures as events (`GET /live`).
 * live_figures.c writes the JSON of an event, which the man page documents. Costs nothing while
 * nobody reads. On the main loop. */
#ifndef KUBE2SKY_LIVE_H
#define KUBE2SKY_LIVE_H

#include <ev.h>

#include "common/base/buf.h"
#include "common/http/http_server.h"
#include "kube2sky/metrics_table.h"

struct live;

/* The sources are borrowed, and set before the loop runs. */
struct live *live_new(struct ev_loop *loop, const struct metrics_sources *sources);

/* After the server. NULL is fine. */
void live_free(struct live *live);

enum { LIVE_ROUTES = 2 };
void live_routes(struct live *live, struct http_route routes[LIVE_ROUTES]);

/* Changes in an event, the latest first. */
enum { LIVE_CHANGES_MAX = 20 };

/* Appends one line without newline. */
void live_figures_write(const struct metrics_sources *sources, struct buf *out);

#endif
