/* What skydns says about itself over HTTP (-http-addr), for main() to serve:
 *
 *     /healthz           200: the loop turns
 *     /readiness         503 until everything has been read from etcd once, then 200 for good
 *     /readiness?strict  503 besides while etcd has been away for longer than -etcd-timeout
 *     /metrics           metrics_table.h
 *
 * Main thread. */
#ifndef SKYDNS_STATUS_H
#define SKYDNS_STATUS_H

#include "common/http_server.h"
#include "skydns/metrics_table.h"

enum { STATUS_ROUTES = 3 };

/* The sources are borrowed, and filled in before the loop runs. */
void status_routes(struct metrics_sources *sources, struct http_route routes[STATUS_ROUTES]);

#endif
