/* Serves /wait?revision=N[&timeout=5s]: 200 once every answering thread serves etcd's revision N or
 * a later one; 504 otherwise (http_waiters.h).
 *
 * A thread that sleeps takes the newest version with its next query, so it serves that one. Nothing
 * is 200 while etcd is not followed, or answers come from a snapshot: N may be of another data set,
 * whose revisions begin anew. Main thread. */
#ifndef SKYDNS_WATCH_WAIT_PAGE_H
#define SKYDNS_WATCH_WAIT_PAGE_H

#include <ev.h>

#include "common/http/http_server.h"
#include "common/http/http_waiters.h"
#include "skydns/pages/metrics_table.h"

/* Makes its waiters; the sources are borrowed. http_waiters_free frees them, after the server. */
struct http_waiters *wait_page_new(struct ev_loop *loop, const struct metrics_sources *sources);

struct http_route wait_page_route(struct http_waiters *waiters);

#endif
