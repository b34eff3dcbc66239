/* Serves the HTTP pages of skydns (-http-addr) on the main thread:
 *
 *     /healthz              200: the loop runs
 *     /readiness            503 until etcd has been read once, complete if -require-store-key, or a
 *                           snapshot is in use; then 200 until SIGTERM
 *     /readiness?strict     also 503 until etcd has confirmed the snapshot; while etcd has been
 *                           away for longer than -etcd-timeout, answers come from records it lost,
 *                           or a domain is incomplete
 *     /serving              200 while this process reads the sockets of its addresses, and not
 *                           another skydns before or after it (handover.h)
 *     /metrics              metrics_table.h
 *     /cache                all records and unusable keys: record_page_internal.h
 *     /search?q=            records by a part of their name, key or value: search_page_internal.h
 *     /clients              the busiest clients, and what search lists cost: client_figures.h
 *     /explain?name=&type=  why a question is answered as it is (explain.h), as JSON; with &text
 *                           for people; with &at= as it was then: past_desk.h
 *
 * Main thread. */
#ifndef SKYDNS_PAGES_STATUS_H
#define SKYDNS_PAGES_STATUS_H

#include "common/http/http_server.h"
#include "skydns/pages/metrics_table.h"

enum { STATUS_ROUTES = 7 };

/* Fills in the routes; the sources are borrowed, and set before the loop runs. */
void status_routes(struct metrics_sources *sources, struct http_route routes[STATUS_ROUTES]);

/* Answers a request for /explain about the present, as a handler of the sources; the route is that
 * of past_desk.h. */
void status_explain(void *data, const struct http_request *request, struct http_reply *reply);

/* Returns the route of /metrics at another path, which is borrowed. */
struct http_route status_metrics_route(struct metrics_sources *sources, const char *path);

#endif
