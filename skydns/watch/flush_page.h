/* Serves POST /flush?name=NAME, or ?name=ZONE. with its last dot, with the field Skydns-Flush: 1:
 * drops what the response cache has of the name, or of the zone's names (resolver.h), and answers
 * {"dropped":3} when that is done. Without the field it is 403: a web page cannot send it to
 * another site. One flush at a time; another is 503. Main thread. */
#ifndef SKYDNS_WATCH_FLUSH_PAGE_H
#define SKYDNS_WATCH_FLUSH_PAGE_H

#include <ev.h>

#include "common/http/http_server.h"
#include "common/http/http_waiters.h"
#include "skydns/pages/metrics_table.h"

struct flush_page;

/* The sources are borrowed. Free it after the server. */
struct flush_page *flush_page_new(struct ev_loop *loop, const struct metrics_sources *sources);
void flush_page_free(struct flush_page *page); /* NULL is fine */

struct http_route flush_page_route(struct flush_page *page);

/* Flushes a running skydns, and prints the response, for -flush. */
int flush_page_client(const struct addr *server, const char *name, struct err *err) MUST_CHECK;

#endif
