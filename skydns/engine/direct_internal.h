/* Answers a query as it stands, for the client it came from: the fast path, then the slow path, and
 * nameservers' replies. engine.c calls it, perhaps several times for one query of a client, with
 * queries that it makes itself (a search path's names), each with what was read of it: who may ask,
 * who asks and what surrounds the reply is decided there. One per engine; that engine's thread
 * only. Arguments and results as engine.h's. */
#ifndef SKYDNS_ENGINE_DIRECT_INTERNAL_H
#define SKYDNS_ENGINE_DIRECT_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/dns/dns.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/store.h"
#include "skydns/wire/deferral.h"
#include "skydns/wire/edns.h"
#include "skydns/wire/external_answer.h"
#include "skydns/wire/query.h"
#include "skydns/wire/response.h"

struct direct;
struct fast_query;
struct cache_image;
struct parsed_response;

struct direct *direct_new(const struct engine_config *config); /* config is borrowed */
void direct_free(struct direct *direct);                       /* NULL is fine */

/* The configuration is another one. */
void direct_configure(struct direct *direct, const struct engine_config *config);

enum engine_verdict direct_answer(struct direct *direct, const struct store *store,
                                  const struct engine_query *query,
                                  const struct external_answers *externals,
                                  struct response *response, struct engine_deferral *ret_deferral);

/* NULL: not an ordinary query. */
void direct_look_ahead(struct direct *direct, const struct store *store,
                       const struct fast_query *const *queries, size_t count);

/* Header, question and OPT, with this extended error if it is one; len 0: the query makes no sense.
 */
void direct_error(struct direct *direct, const struct engine_query *query, enum dns_rcode rcode,
                  uint16_t flags, enum edns_error error, struct response *response);

/* As engine_forwarded. */
bool direct_forwarded(struct direct *direct, const struct engine_query *query,
                      const struct parsed_response *upstream, struct cache_image *image,
                      struct response *response);

#endif
