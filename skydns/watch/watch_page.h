/* Serves /watch?name=NAME&type=TYPE[&client=ADDRESS]: server-sent events with the answer's records,
 * first the present ones, then those after each change.
 *
 *     data: {"revision":1234,"status":"NOERROR","answer":["web.... 30 IN A 10.0.0.1"]}
 *
 * The answers are those of /explain (explainer_answer), as this client would get them; an answer
 * that is the same as the last one sent is no event. After each publication all streams are looked
 * at, in portions of WATCH_PORTION_US between which the loop goes on, and WATCH_GAP_MS after the
 * last look; so versions in between may have no event. Nothing runs while nothing changes.
 *
 * A stream holds up no other: while a part waits to be sent nothing is added, and it gets the
 * newest answer once that is out. One that reads nothing for 10 s, or has more to send than there
 * is room for, ends with `event: end` and the reason, if it still reads that within 10 s. Main
 * thread. */
#ifndef SKYDNS_WATCH_WATCH_PAGE_H
#define SKYDNS_WATCH_WATCH_PAGE_H

#include <ev.h>
#include <stddef.h>
#include <stdint.h>

#include "common/http/http_server.h"
#include "skydns/pages/metrics_table.h"

struct watch_page;

enum {
    WATCH_STREAMS_MAX = 1024,
    WATCH_CLIENT_MAX = 128,
    WATCH_UNSENT_MAX = 16 * 1024 * 1024, /* bytes that wait for readers, of all */
    WATCH_EVENT_MAX = 1024 * 1024,       /* an answer of 64 KiB, as text */
    WATCH_PORTION_US = 2000,
    WATCH_GAP_MS = 50, /* from a look at all streams to the next one */
};

/* The sources are borrowed. Freed after the server. */
struct watch_page *watch_page_new(struct ev_loop *loop, const struct metrics_sources *sources);
void watch_page_free(struct watch_page *page); /* NULL is fine */

struct http_route watch_page_route(struct watch_page *page);

/* Returns the figures of a struct watch_page, for metrics_sources. */
struct watch_counts watch_page_count(const void *watch_page);

#endif
