/* Questions to nameservers, and what is kept of the replies: chooses the zone whose nameservers are
 * asked, keeps replies and failures in the cache, and finds them again for those that ask on this
 * thread (workers and engines read the cache themselves).
 *
 *     fetcher_ask -- forwarder --> those who wait have the reply --> the cache
 *
 * Which replies fill the cache: those to questions with RD and without a client's network, if the
 * zone still has the nameservers that were asked. A question that fails, however it was asked, is
 * not asked again for a while, which the cache remembers (cache_fail) and those who read it
 * respect; one that was only to refresh a kept reply does not count as failed, since that reply is
 * still good. Together with the sharing of questions in flight, nameservers get one question for
 * each name, type and flags at a time, and while they fail one in 1 s, then 2 s and so on up to 30
 * s, however many clients ask; and, for the zone as a whole, one trial a second, so that a recovery
 * is noticed soon and ends all waiting (cache_zone_answered). A nameserver that is silent for one
 * name only, and answers probes, ends no waiting.
 *
 * On the resolver's loop and thread; any thread where it says so. */
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
    struct cache_tally *tally; /* borrowed; NULL: nobody sums */
};

struct fetcher *fetcher_new(const struct fetcher_config *config);
void fetcher_free(struct fetcher *fetcher); /* without callbacks; NULL is fine */

/* Before anything is asked in a turn of the loop: the configuration, borrowed until the next call
 * or the end of the turn. Costs nothing when nothing changed. True: it changed. */
bool fetcher_configure(struct fetcher *fetcher, const struct engine_config *config);

/* As forwarder_ask, of the zone that the question's name is in. */
enum forwarder_start fetcher_ask(struct fetcher *fetcher, const struct upstream_question *question,
                                 unsigned rotation, struct forwarder_wait *wait) MUST_CHECK;

/* Asks for a kept reply again, before its time is over; at most FORWARDER_BACKGROUND_MAX. */
void fetcher_refresh(struct fetcher *fetcher, const struct upstream_question *question,
                     unsigned rotation);

/* Whether a response's CNAMEs end at a name of our domains, whose records are ours to give: what
 * nameservers say of such names is taken out of every response (onward_internal.h), and none of
 * these is kept, since what follows may differ for each client and change at any time. `forms`:
 * those of the response. */
bool fetcher_leads_home(const struct fetcher *fetcher, const struct parsed_response *response,
                        struct reply_forms *forms);

enum fetcher_found {
    FETCHER_NOTHING, /* ask */
    FETCHER_REPLY,
    FETCHER_FAILURE, /* the question failed so recently that it is not asked again */
};

/* What is kept of the reply to a question: one that has not expired or, after a failure, with
 * `takes_stale`, or while the question is not asked again, also one that has. *ret_message is a
 * message with the records, borrowed until the next call. */
enum fetcher_found fetcher_find(struct fetcher *fetcher, const struct upstream_question *question,
                                bool takes_stale, struct slice *ret_message);

/* Whether a client's question without RD, or for a network, is not asked now since it failed
 * recently: those that cache_read does not look at. */
bool fetcher_is_pausing(struct fetcher *fetcher, const struct upstream_question *question);

/* For what concerns questions in flight and servers alone. */
struct forwarder *fetcher_forwarder(struct fetcher *fetcher);

/* ---- Why a reply was not kept; for explanations ---- */

/* Of the last replies that were not kept, by question: a later one may take the place of another's.
 * A reply that was kept afterwards does not remove it: ask the cache first. */
enum { FETCHER_UNCACHED_MAX = 1024 };

struct fetcher_uncached {
    enum cache_verdict verdict;
    int64_t at_ms;          /* clock_monotonic_ms */
    struct addr nameserver; /* that sent it */
};

/* Any thread. False: nothing is known. */
bool fetcher_uncached(const struct fetcher *fetcher, const struct cache_key *key,
                      struct fetcher_uncached *ret);

#endif
