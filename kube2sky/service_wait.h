/* Serves /wait?service=NAMESPACE/NAME&resourceVersion=RV[&timeout=5s]: 200 and {"revision":N} once
 * the Service is known at RV or later and all its records are in etcd, at N or earlier; 504
 * otherwise (http_waiters.h). The API server is asked nothing.
 *
 * A Service is known at RV if its own version, or that of the watch of Services, has reached it.
 * The slices of a headless Service are known at RV once their watch has reached it, by any event or
 * a bookmark, which come about once a minute. Other Services have no records from slices, so that
 * nothing waits for those. A Service that does not exist at RV has no records: 200 once they are
 * gone, with "exists":false. A standby answers as the leader does, from what it sees in etcd. On
 * the main loop. */
#ifndef KUBE2SKY_SERVICE_WAIT_H
#define KUBE2SKY_SERVICE_WAIT_H

#include <ev.h>

#include "common/http/http_server.h"
#include "common/http/http_waiters.h"
#include "kube2sky/metrics_table.h"

/* The sources are borrowed. Free it after the server. */
struct http_waiters *service_wait_new(struct ev_loop *loop, struct metrics_sources *sources);

/* The sources have the waiters. */
struct http_route service_wait_route(struct metrics_sources *sources);

#endif
