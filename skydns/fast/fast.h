/* The fast path from a parsed query to the reply's bytes, for common questions: addresses, ports
 * (SRV), reverse names, names without such data and names that do not exist, and whatever the cache
 * has of other domains. It looks up, copies what the store has prepared (store_ready.h), and falls
 * back to the slow path (answer.h, encode.h) whenever anything is out of the ordinary. Its replies
 * are byte for byte those of the slow path. One per engine; that engine's thread only.
 *
 * No allocation, no lock, no system call. */
#ifndef SKYDNS_FAST_FAST_H
#define SKYDNS_FAST_FAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/publish/engine_config.h"
#include "skydns/records/store.h"
#include "skydns/wire/query.h"

struct answer;
struct encoder;
struct engine_deferral;
struct fast_query;
struct fast;
struct cache_access;
struct response;

/* The encoder is borrowed for this call and for fast_configure; `kept`, which has the same
 * configuration, for good. */
struct fast *fast_new(const struct engine_config *config, struct encoder *encoder,
                      struct cache_access *cached);
void fast_free(struct fast *fast); /* NULL is fine */

/* Switches to another configuration, borrowed until the next one. */
void fast_configure(struct fast *fast, const struct engine_config *config, struct encoder *encoder);

/* Answers an ordinary query. False: take the slow path. The response may have come from the cache,
 * which wants its copy refreshed: *ret_deferral has what comes with a REPLY. */
bool fast_answer(struct fast *fast, const struct store *store, const struct engine_query *query,
                 struct response *response, struct engine_deferral *ret_deferral);

/* For a query whose answer is signed if it is ours. */
enum fast_outcome {
    FAST_LEFT,     /* take the slow path */
    FAST_ANSWERED, /* from the cache, as fast_answer: other domains' names have no signatures of
                      ours */
    FAST_BUILT,    /* `answer` has the plan, as answer_build makes it: addresses, or a denial */
};
enum fast_outcome fast_prepare(struct fast *fast, const struct store *store,
                               const struct engine_query *query, struct answer *answer,
                               struct response *response, struct engine_deferral *ret_deferral);

/* Like engine_look_ahead; NULL: not an ordinary query. Nothing with visibility. They are borrowed
 * until answered. count 0: forgets the last batch and does not read the store. */
void fast_look_ahead(struct fast *fast, const struct store *store,
                     const struct fast_query *const *queries, size_t count);

#endif
