/* Answers a query as it stands, for its client: by the fast path, then the slow path, and from
 * upstreams' responses.
 *
 * engine.c calls it, perhaps several times for one query of a client, with queries that it makes
 * itself (a search list's candidate names), already parsed. engine.c decides who may ask,
 * identifies the client, and completes the response. One per engine, on that engine's thread.
 * Arguments and results are those of engine.h. */
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

/* Switches to another configuration. */
void direct_configure(struct direct *direct, const struct engine_config *config);

enum engine_verdict direct_answer(struct direct *direct, const struct store *store,
                                  const struct engine_query *query,
                                  const struct external_answers *externals,
                                  struct response *response, struct engine_deferral *ret_deferral);

/* Looks ahead like engine_look_ahead. A NULL query is not an ordinary one. */
void direct_look_ahead(struct direct *direct, const struct store *store,
                       const struct fast_query *const *queries, size_t count);

/* Writes header, question and OPT, with the extended error unless it is EDNS_ERROR_NONE. Sets len
 * to 0 when the query is malformed. */
void direct_error(struct direct *direct, const struct engine_query *query, enum dns_rcode rcode,
                  uint16_t flags, enum edns_error error, struct response *response);

/* Does what engine_forwarded does. */
bool direct_forwarded(struct direct *direct, const struct engine_query *query,
                      const struct parsed_response *upstream, struct cache_image *image,
                      struct response *response);

#endif
