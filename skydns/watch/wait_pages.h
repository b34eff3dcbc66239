/* Serves the pages whose responses wait for answering threads: /wait for a revision, /flush for an
 * emptied cache (http_waiters.h). Main thread.
 *
 * /wait?revision=N[&timeout=5s]: 200 once every answering thread serves etcd's revision N or a
 * later one; 504 otherwise. A thread that sleeps takes the newest version with its next query, so
 * it serves that one. Nothing is 200 while etcd is not followed, or answers come from a snapshot: N
 * may be of another data set, whose revisions begin anew.
 *
 * POST /flush?name=NAME, or ?name=ZONE. with its last dot, with the field Skydns-Flush: 1: drops
 * what the response cache has of the name, or of the zone's names (resolver.h), and answers
 * {"dropped":3} when that is done. Without the field it is 403: a web page cannot send it to
 * another site. One flush at a time; another is 503. */
#ifndef SKYDNS_WATCH_WAIT_PAGES_H
#define SKYDNS_WATCH_WAIT_PAGES_H

#include <ev.h>

#include "common/http/http_server.h"
#include "common/http/http_waiters.h"
#include "skydns/pages/metrics_table.h"

/* ---- /wait ---- */

/* Makes its waiters; the sources are borrowed. http_waiters_free frees them, after the server. */
struct http_waiters *wait_page_new(struct ev_loop *loop, const struct metrics_sources *sources);

struct http_route wait_page_route(struct http_waiters *waiters);

/* ---- /flush ---- */

struct flush_page;

/* The sources are borrowed. Free it after the server. */
struct flush_page *flush_page_new(struct ev_loop *loop, const struct metrics_sources *sources);
void flush_page_free(struct flush_page *page); /* NULL is fine */

struct http_route flush_page_route(struct flush_page *page);

/* Flushes a running skydns, and prints the response, for -flush. */
int flush_page_client(const struct addr *server, const char *name, struct err *err) MUST_CHECK;

#endif
