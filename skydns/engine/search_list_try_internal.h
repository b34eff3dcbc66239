/* Tries the candidate names of a client's search list in their order, so that its resolver need
 * not. The first answer that is not NXDOMAIN is the response, behind a CNAME from the client's name
 * (response.h). search_list_internal.h makes the names.
 *
 * An answer to the query itself is given as it is; so is its NXDOMAIN if no other name exists. A
 * candidate name that could not be answered (SERVFAIL, REFUSED) is skipped, and the response is
 * SERVFAIL if nothing else answers. A name below a domain of -search without such data is skipped,
 * too, and then NXDOMAIN becomes NODATA.
 *
 *     direct_answer, once for each candidate --> response, or a deferral with the place that waits
 *
 * One look into the store rules out most candidate names: there is nothing below the search domain
 * with the prefix's last label. Wildcards cannot be ruled out. A client that asks for them has, at
 * each of three or four places, the visits of any other query (ENGINE_SCAN_MAX).
 *
 * A client that sets DO searches by itself if answers have signatures: nobody can sign the CNAME
 * that stands for a search. The search reveals no hidden name: each place follows the rules of a
 * query for its name. One per engine, on that engine's thread; no allocation, lock or system call.
 */
#ifndef SKYDNS_ENGINE_SEARCH_LIST_TRY_INTERNAL_H
#define SKYDNS_ENGINE_SEARCH_LIST_TRY_INTERNAL_H

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
struct cache_image;
struct parsed_response;
struct search_list_try;

/* Makes a search. Borrows both; `direct` has the same configuration. */
struct search_list_try *search_list_try_new(const struct engine_config *config,
                                            struct direct *direct, struct engine_counts *counts);
void search_list_try_free(struct search_list_try *tries); /* NULL is fine */

/* Switches to another configuration. */
void search_list_try_configure(struct search_list_try *tries, const struct engine_config *config);

/* Answers like engine_answer, for a query whose view is set. */
enum engine_verdict search_list_try_answer(struct search_list_try *tries, const struct store *store,
                                           const struct engine_query *query,
                                           const struct external_answers *externals,
                                           struct response *response,
                                           struct engine_deferral *ret_deferral);

/* Does what engine_forwarded does, for such a query. */
bool search_list_try_forwarded(struct search_list_try *tries, const struct engine_query *query,
                               const struct parsed_response *upstream, struct cache_image *image,
                               struct response *response);

#endif
