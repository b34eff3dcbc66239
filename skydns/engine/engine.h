/* Answers queries: query bytes in, response bytes out. It knows nothing of sockets, and the sockets
 * know nothing of records. UDP workers, the TCP server and the resolver all call engine_answer.
 * Each thread has an engine of its own (scratch memory), made before the thread starts.
 *
 * The verdicts:
 *     REPLY   The response is written.
 *     DROP    Send nothing: a response, a message shorter than a header (RFC 1035), or a malformed
 *             message from a client that -allow refuses.
 *     DEFER   The answer must wait. The caller hands the query (owned_query.h) and the deferral to
 *             the resolver thread. That fetches the externals and calls engine_answer again with
 *             them, on the store current by then.
 *
 * A call with externals never defers for LOOKUP again: a target that no upstream was asked about
 * has its cached answer. A call with may_scan never defers for SCAN. A SCAN retried with may_scan
 * may still defer for LOOKUP. A question that would be forwarded is REPLY if the response cache has
 * its answer and the configuration lets the client have it. A brief call defers for SCAN what
 * the same call without is_brief may answer.
 *
 * A client outside -allow gets REFUSED before anything else looks at its query. A question about a
 * stub zone from a server of stub zones is REFUSED, too: it would be asked in a circle. A client
 * with a cookie (cookie.h) gets one with each response, late ones included; callers notice nothing
 * of it.
 *
 * A query with a search list (search_list_internal.h) may be deferred several times, each time at a
 * later candidate name, or at ENGINE_PATH_OVER. The caller passes the deferral's position on with
 * the query. Externals are for that candidate name alone. After it, the call may defer again, for
 * anything but a SCAN with may_scan.
 *
 * A query with TSIG that has waited is signed with the key of that name. If that key is gone, it is
 * DROP, and the calls below write no response either.
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

/* Switches to another configuration, borrowed until the next one. Call it between queries, on the
 * engine's thread. max_udp_size must be the same. Costs nothing when nothing changes. */
void engine_configure(struct engine *engine, const struct engine_config *config);

/* Returns whether -allow admits the client, whatever it asks: for callers that refuse queries
 * before parsing them. engine_answer checks it, too. */
bool engine_admits(struct engine *engine, const struct addr *client);

/* Answers a query. An answer over 64 KiB is SERVFAIL over TCP, as SkyDNS's was. `store` NULL: not
 * synced yet; names of ours are SERVFAIL, external ones are still forwarded. `externals` NULL:
 * first call.
 *
 * response->bytes are ENGINE_REPLY_MAX over TCP, at least max_udp_size (and 512) over UDP. The rest
 * of it is set for REPLY, *ret_deferral for DEFER, and its wants_refresh always. With REPLY and
 * wants_refresh, the caller passes the query on for ENGINE_DEFER_REFRESH, if there is room. Writes
 * the query's fields that are the engine's own, which hold until the next call. */
enum engine_verdict engine_answer(struct engine *engine, const struct store *store,
                                  struct engine_query *query,
                                  const struct external_answers *externals,
                                  struct response *response, struct engine_deferral *ret_deferral);

/* Returns whether a first call on newer records outdates these answers: the records now point to
 * names that no upstream was asked about. Without those names' addresses, the answer would deny
 * existing ones. */
bool engine_outdates(enum engine_verdict verdict, const struct engine_deferral *deferral,
                     const struct external_answers *externals);

/* Looks up the names of the queries that will be answered next, all at once (store_scan.h), so that
 * they wait for memory together. Changes no answer. `store` as above. At most ENGINE_AHEAD_MAX
 * queries, whose bytes must not change until they are answered, or until the next call. */
void engine_look_ahead(struct engine *engine, const struct store *store,
                       const struct slice *queries, size_t count);

/* Parses a query that is deferred before an answer is tried: sets `parsed` and `tsig`, which hold
 * until the next call. */
void engine_read(struct engine *engine, struct engine_query *query);

/* Returns what a query's cookie says about its client's address, for a caller that limits rates. It
 * is ALONE, too, when cookies are off, or the query is malformed. Costs one look if it surely has
 * no cookie; else the query is parsed. */
enum cookie_verdict engine_check_cookie(struct engine *engine, const struct engine_query *query);

/* Writes the response to a rate-limited query over UDP: empty, with TC; BADCOOKIE if the cookie is
 * WRONG, so that the client asks again with the one it gets. At most DNS_UDP_SIZE bytes. Returns
 * false, and sets response->len to 0, when the query is malformed; so do the next two. */
bool engine_limited(struct engine *engine, const struct engine_query *query,
                    enum cookie_verdict cookie, struct response *response);

/* Writes a SERVFAIL to a deferred query that cannot be served (queue full, upstream dead), with the
 * reason for clients with EDNS. Never longer than 512 bytes. */
bool engine_servfail(struct engine *engine, const struct engine_query *query, enum edns_error error,
                     struct response *response);

/* Writes REFUSED, to a client whose query may not be forwarded. The same size. */
bool engine_refused(struct engine *engine, const struct engine_query *query,
                    struct response *response);

/* Adapts an upstream's response to a deferred FORWARD query: as the response cache gives it if it
 * can be cached, else by relay.h. `image` is the response's, for all queries that wait for it.
 *
 * Returns false when the response does not answer this query, or is truncated or too long over TCP.
 * Returns false, too, when the query has a search list, which goes on at the next candidate name.
 */
bool engine_forwarded(struct engine *engine, const struct engine_query *query,
                      const struct parsed_response *upstream, struct cache_image *image,
                      struct response *response);

/* Returns this engine's counts. Any thread; borrowed. */
struct engine_counts {
    struct counter path_answers; /* answers from another candidate name than the first */
    struct counter path_saved;   /* queries saved to clients: for the candidate names before */
    struct counter tsig[TSIG_VERDICTS]; /* queries with TSIG, by enum tsig_verdict */
};
const struct engine_counts *engine_counts(const struct engine *engine);

#endif
