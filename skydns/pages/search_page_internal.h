/* Finds records by a part of their name, key or value, for /search: best first, as JSON. Main
 * thread.
 *
 *     {"q":"web","revision":1234,"scanned":300000,"matches":250,"records":[
 *      {"name":"web.default.svc.cluster.local.","match":"label","key":...,"host":...,
 *       "revision":17,"known_s":3},...]}
 *
 * The records are gone through in steps of half a millisecond, one in each turn of the loop,
 * however many there are and however many searches run: 300,000 take a third of a second. What
 * changes meanwhile may be found in its old or new state, or not. */
#ifndef SKYDNS_PAGES_SEARCH_PAGE_INTERNAL_H
#define SKYDNS_PAGES_SEARCH_PAGE_INTERNAL_H

#include "common/http/http_server.h"

struct store_sync;

enum {
    SEARCH_RESULTS_MAX = 100, /* shown; further ones are only counted */
    SEARCH_TEXT_MAX = 255,    /* bytes: a name */
    SEARCH_RUNNING_MAX = 16,  /* of one client's connections (http_server.h); others get 503 */
};

/* Serves a search. `text` NULL: 400, as for one that is too long. Empty: every record, the shortest
 * names first. */
void search_page(const struct store_sync *sync, const char *text, struct http_reply *reply);

#endif
