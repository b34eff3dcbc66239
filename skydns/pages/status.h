/* What skydns says about itself over HTTP (-http-addr), for main() to serve:
 *
 *     /healthz           200: the loop turns
 *     /readiness         503 until everything has been read from etcd once, then 200 until it is
 *                        told to end
 *     /readiness?strict  503 besides while etcd has been away for longer than -etcd-timeout, or
 *                        records are answered that it lost
 *     /metrics           metrics_table.h
 *     /cache             all records, and the keys that cannot be used: record_page_internal.h
 *     /explain?name=&type=  why a question is answered as it is (explain.h), as JSON; with &text
 * for people
 *
 * Main thread. */
#ifndef SKYDNS_PAGES_STATUS_H
#define SKYDNS_PAGES_STATUS_H

#include "common/http/http_server.h"
#include "skydns/pages/metrics_table.h"

enum { STATUS_ROUTES = 5 };

/* The sources are borrowed, and filled in before the loop runs. */
void status_routes(struct metrics_sources *sources, struct http_route routes[STATUS_ROUTES]);

/* /metrics at another path. The path is borrowed. */
struct http_route status_metrics_route(struct metrics_sources *sources, const char *path);

#endif
