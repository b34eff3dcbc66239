/* Answers questions about the past: /explain?at= and /history. Both ask etcd, so their responses
 * come later (past_job_internal.h). Main thread. */
#ifndef SKYDNS_PAST_PAST_DESK_H
#define SKYDNS_PAST_PAST_DESK_H

#include <ev.h>

#include "common/http/http_server.h"

struct etcd;
struct metrics_sources;
struct past_counts;
struct past_desk;

enum { PAST_DESK_ROUTES = 2 };

/* The sources are borrowed, and set before the loop runs; etcd is borrowed, too. */
struct past_desk *past_desk_new(struct ev_loop *loop, struct metrics_sources *sources,
                                struct etcd *etcd);

/* Free the servers that have its pages first, and etcd later. NULL is fine. */
void past_desk_free(struct past_desk *desk);

/* Returns what was asked since the start, borrowed. */
const struct past_counts *past_desk_counts(const struct past_desk *desk);

/* Fills in the routes. That of /explain answers questions about the present, too. */
void past_desk_routes(struct past_desk *desk, struct http_route routes[PAST_DESK_ROUTES]);

#endif
