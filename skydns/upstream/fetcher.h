/* Asks upstreams and caches their responses. It chooses the zone whose upstreams are asked, puts
 * responses and failures into the response cache, and finds them again for queries on this thread.
 * Workers and engines read the cache themselves.
 *
 *     fetcher_ask -- forwarder --> waiting queries have the response --> the response cache
 *
 * It caches responses to questions with RD and without a client's network, if the zone still has
 * the upstreams that were asked. A question that fails, however it was asked, is not asked again
 * for a while: the cache remembers it (cache_fail), and its readers respect it. A refresh that
 * fails does not count, since the cached response is still good.
 *
 * Identical questions share one upstream query. So upstreams get one question for each name, type
 * and flags at a time; while they fail, one in 1 s, then 2 s and so on up to 30 s, however many
 * clients ask. The zone as a whole gets one probe a second, which soon notices a recovery and ends
 * all backoffs (cache_zone_answered). An upstream that is silent for one name only, and answers
 * probes, ends none.
 *
 * On the resolver's loop and thread; any thread if the comment says so. */
#ifndef SKYDNS_UPSTREAM_FETCHER_H
#define SKYDNS_UPSTREAM_FETCHER_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "skydns/external/cache.h"
#include "skydns/upstream/forwarder.h"
#include "skydns/upstream/upstream_message.h"

struct cache_tally;
struct dnstap;
struct engine_config;
struct fetcher;
struct tls_pool;

struct fetcher_config {
    struct ev_loop *loop;
    bool random_case; /* as forwarder.h, like the next ones */
    size_t sockets_max;
    struct tls_pool *tls;
    struct dnstap *dnstap;
    void (*suspect_loop)(void *data); /* may be NULL */
    void *data;
    struct cache_tally *tally; /* borrowed; NULL: nothing sums the counts */
};

struct fetcher *fetcher_new(const struct fetcher_config *config);
void fetcher_free(struct fetcher *fetcher); /* without callbacks; NULL is fine */

/* Sets the configuration before anything is asked in a turn of the loop; borrowed until the next
 * call or the end of the turn. Returns whether it changed. Costs nothing when nothing changed. */
bool fetcher_configure(struct fetcher *fetcher, const struct engine_config *config);

/* Calls forwarder_ask for the zone that contains the question's name. */
enum forwarder_start fetcher_ask(struct fetcher *fetcher, const struct upstream_question *question,
                                 unsigned rotation, struct forwarder_wait *wait) MUST_CHECK;

/* Refreshes a cached response before it expires; at most FORWARDER_BACKGROUND_MAX at a time. */
void fetcher_refresh(struct fetcher *fetcher, const struct upstream_question *question,
                     unsigned rotation);

/* Returns whether a response's CNAMEs end at a name of our domains, whose records are ours.
 * onward_internal.h takes upstreams' records of such names out of every response. None of these
 * responses is cached, since the records that follow may differ for each client and change at any
 * time. `forms` are the response's. */
bool fetcher_leads_home(const struct fetcher *fetcher, const struct parsed_response *response,
                        struct reply_forms *forms);

enum fetcher_found {
    FETCHER_NOTHING, /* ask */
    FETCHER_REPLY,
    FETCHER_FAILURE, /* the question failed so recently that it is not asked again */
};

/* Finds the cached response to a question. It is a fresh one; or a stale one after a failure, with
 * `takes_stale`, or while the question is not asked again. *ret_message is a message with the
 * records, borrowed until the next call. */
enum fetcher_found fetcher_find(struct fetcher *fetcher, const struct upstream_question *question,
                                bool takes_stale, struct slice *ret_message);

/* Returns whether a client's question without RD, or for a network, is in its backoff after a
 * failure. cache_read does not look at these. */
bool fetcher_is_pausing(struct fetcher *fetcher, const struct upstream_question *question);

/* Returns the forwarder, for its outstanding questions and its servers. */
struct forwarder *fetcher_forwarder(struct fetcher *fetcher);

/* ---- Reasons why a response is not cached; for explanations ---- */

/* Bounds the reasons remembered, by question: a later one may replace another question's. Caching a
 * response later does not remove its reason: ask the cache first. */
enum { FETCHER_UNCACHED_MAX = 1024 };

struct fetcher_uncached {
    enum cache_verdict verdict;
    int64_t at_ms;          /* clock_monotonic_ms */
    struct addr nameserver; /* the sender */
};

/* Finds the reason for a question. Returns false when none is known. Any thread. */
bool fetcher_uncached(const struct fetcher *fetcher, const struct cache_key *key,
                      struct fetcher_uncached *ret);

#endif
