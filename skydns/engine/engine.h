/* The seam between sockets and records: query bytes in, reply bytes out. It knows nothing of
 * sockets, and the sockets know nothing of records. UDP workers, the TCP server and the resolver
 * all call engine_answer; each thread has an engine of its own (scratch memory), made before the
 * thread starts.
 *
 * REPLY: the reply is written. DROP: send nothing (RFC 1035: a response, or a message shorter than
 * a header; a message without sense from a client that may not ask). DEFER: cannot be answered
 * without waiting; the caller hands the query (owned_query.h) and the deferral to the resolver
 * thread, which fetches the externals and calls engine_answer again with them, on the store current
 * by then. A call with externals never defers for LOOKUP again (a target that was not asked about
 * has what the cache has), a call with may_scan never for WALK; a WALK retried with may_scan may
 * still defer for LOOKUP. A question that would be forwarded is REPLY if the cache has its answer
 * and the configuration says that the client may have it. A brief call defers for WALK what the
 * same call without is_brief may answer.
 *
 * A client that may not ask at all (-allow) gets REFUSED, before anything else looks at its query.
 * So does a question about a stub zone from a server of stub zones, which would ask in a circle.
 * A client with a cookie (cookie.h) gets one with each reply, late ones included; callers notice
 * nothing of it.
 *
 * A query with a search path (search_list_internal.h) may be deferred several times, each time at a
 * later place, or at ENGINE_PATH_OVER; the caller passes the deferral's place on with the query.
 * Externals are for that place alone: behind it, the call may defer again, for anything but a WALK
 * with may_scan.
 *
 * A signed query that has waited is signed with the key of that name; if there is none any more, it
 * is DROP, and has no response of the calls below either.
 *
 * Steady state: no allocation, no lock, no system call. */
#ifndef SKYDNS_ENGINE_ENGINE_H
#define SKYDNS_ENGINE_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/metrics.h"
#include "common/base/slice.h"
#include "skydns/engine/cookie.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/store.h"
#include "skydns/tsig/tsig.h"
#include "skydns/wire/deferral.h"
#include "skydns/wire/edns.h"
#include "skydns/wire/external_answer.h"
#include "skydns/wire/query.h"
#include "skydns/wire/response.h"

struct engine;
struct cache_image;
struct parsed_response;

struct engine *engine_new(const struct engine_config *config); /* config is borrowed */
void engine_free(struct engine *engine);

/* Between queries, on the engine's thread: switches to another configuration, borrowed until the
 * next one; max_udp_size must be the same. Costs nothing when nothing changes. */
void engine_configure(struct engine *engine, const struct engine_config *config);

/* Whether the client may ask at all (-allow), whatever it asks: for callers that refuse queries
 * before anybody reads them. engine_answer checks it, too. */
bool engine_admits(struct engine *engine, const struct addr *client);

/* An answer over 64 KiB is SERVFAIL over TCP, as SkyDNS's was. store NULL: not synced yet; names of
 * ours are SERVFAIL, foreign ones are still forwarded. externals NULL: first call. response->bytes
 * are ENGINE_REPLY_MAX over TCP, at least max_udp_size (and 512) over UDP; the rest of it is set
 * for REPLY, *ret_deferral for DEFER; its wants_refresh always: with REPLY, the caller passes the
 * query on for ENGINE_DEFER_REFRESH, if there is room. Writes the query's fields that are the
 * engine's own, which hold until the next call. */
enum engine_verdict engine_answer(struct engine *engine, const struct store *store,
                                  struct engine_query *query,
                                  const struct external_answers *externals,
                                  struct response *response, struct engine_deferral *ret_deferral);

/* Whether these answers are outdated, by a first call on newer records: they now point to names not
 * asked about, without whose addresses the answer would deny existing ones. */
bool engine_outdates(enum engine_verdict verdict, const struct engine_deferral *deferral,
                     const struct external_answers *externals);

/* Batched lookup: looks up the names of these queries, which will be answered next, all at once
 * (store_scan.h), so that they wait for memory together. Changes no answer. store as above; at most
 * ENGINE_AHEAD_MAX queries, whose bytes must not change until answered, or until the next call. */
void engine_look_ahead(struct engine *engine, const struct store *store,
                       const struct slice *queries, size_t count);

/* Reads a query that is deferred before an answer is tried: sets `parsed` and `tsig`, which hold
 * until the next call. */
void engine_read(struct engine *engine, struct engine_query *query);

/* For a caller that limits rates: what a query's cookie says about its client's address. ALONE,
 * too, when there are no cookies, or the query makes no sense. Costs one look if it surely has no
 * cookie, else the query is read. */
enum cookie_verdict engine_check_cookie(struct engine *engine, const struct engine_query *query);

/* The reply to a query beyond its client's rate, over UDP: empty, with TC; BADCOOKIE if the cookie
 * is WRONG, so that the client asks again with the one it gets. At most DNS_UDP_SIZE bytes. False,
 * and response->len 0: the query makes no sense; likewise below. */
bool engine_limited(struct engine *engine, const struct engine_query *query,
                    enum cookie_verdict cookie, struct response *response);

/* A SERVFAIL to a deferred query that cannot be served (queue full, upstream dead), with the reason
 * for clients with EDNS. Never longer than 512 bytes. */
bool engine_servfail(struct engine *engine, const struct engine_query *query, enum edns_error error,
                     struct response *response);

/* REFUSED, to a client whose query may not be forwarded. The same size. */
bool engine_refused(struct engine *engine, const struct engine_query *query,
                    struct response *response);

/* Adapts an upstream's reply to a deferred FORWARD query: as the cache gives it if it can be kept,
 * else relay.h. False when it is not a valid reply to this query, or the query came over TCP
 * and it is truncated or too long; or the query has a search path, which goes on at the next place.
 * `image`: the response's, for all who wait for it. */
bool engine_forwarded(struct engine *engine, const struct engine_query *query,
                      const struct parsed_response *upstream, struct cache_image *image,
                      struct response *response);

/* What this engine has answered by search paths; any thread. Borrowed. */
struct engine_counts {
    struct counter path_answers; /* of names at other places than the first */
    struct counter path_saved;   /* questions that their clients need not ask: the places before */
    struct counter tsig[TSIG_VERDICTS]; /* signed queries, by enum tsig_verdict */
};
const struct engine_counts *engine_counts(const struct engine *engine);

#endif
