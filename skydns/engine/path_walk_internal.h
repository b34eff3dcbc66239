/* Tries the names of a client's search path (path_internal.h) in their order, so that its resolver
 * need not: the first answer that is not NXDOMAIN is the reply, behind a CNAME from the client's
 * name (response.h). An answer to the query itself is given as it is; so is its NXDOMAIN
 * if no other name exists. A place that could not be answered (SERVFAIL, REFUSED) is passed over,
 * and the reply is SERVFAIL if nothing else answers; so is a name below a domain of -search that
 * has no such data, and then NXDOMAIN becomes NODATA.
 *
 *     direct_answer, once for each place --> reply, or a deferral with the place that waits
 *
 * Most places are ruled out by one look into the store: there is nothing below the search domain
 * with the prefix's last label. A client that asks for wildcards, which cannot be ruled out, has as
 * many visits at each place as another query has (ENGINE_WALK_MAX), on three or four places.
 *
 * A client that sets DO searches by itself where answers are signed: nobody can sign the CNAME that
 * stands for a search.
 *
 * What a client may not have, it does not get: a place is answered by the rules that a query for
 * its name has. One per engine; that engine's thread only; no allocation, lock or system call. */
#ifndef SKYDNS_ENGINE_PATH_WALK_INTERNAL_H
#define SKYDNS_ENGINE_PATH_WALK_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/engine/engine.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/store.h"
#include "skydns/wire/deferral.h"
#include "skydns/wire/external_answer.h"
#include "skydns/wire/query.h"
#include "skydns/wire/response.h"

struct direct;
struct kept_image;
struct parsed_response;
struct path_walk;

/* Both are borrowed; `direct` has the same configuration. */
struct path_walk *path_walk_new(const struct engine_config *config, struct direct *direct,
                                struct engine_counts *counts);
void path_walk_free(struct path_walk *walk); /* NULL is fine */

/* The configuration is another one. */
void path_walk_configure(struct path_walk *walk, const struct engine_config *config);

/* As engine_answer, for a query whose view is set. */
enum engine_verdict path_walk_answer(struct path_walk *walk, const struct store *store,
                                     const struct engine_query *query,
                                     const struct external_answers *externals,
                                     struct response *response,
                                     struct engine_deferral *ret_deferral);

/* As engine_forwarded, likewise. */
bool path_walk_forwarded(struct path_walk *walk, const struct engine_query *query,
                         const struct parsed_response *upstream, struct kept_image *image,
                         struct response *response);

#endif
