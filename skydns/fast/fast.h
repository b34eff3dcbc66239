/* Takes common queries from parsed query to response bytes: the fast path. These ask for addresses,
 * ports (SRV), reverse names, names without such data, names that do not exist, and cached external
 * names.
 *
 * It looks up, copies records that the store has prepared (store_ready.h), and falls back to the
 * slow path (answer.h, encode.h) if anything is out of the ordinary. Its responses are byte for
 * byte those of the slow path. One per engine, on that engine's thread. No allocation, no lock, no
 * system call. */
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

/* Makes a fast path. Borrows the encoder for this call and for fast_configure, and `cached`, which
 * has the same configuration, for good. */
struct fast *fast_new(const struct engine_config *config, struct encoder *encoder,
                      struct cache_access *cached);
void fast_free(struct fast *fast); /* NULL is fine */

/* Switches to another configuration, borrowed until the next one. */
void fast_configure(struct fast *fast, const struct engine_config *config, struct encoder *encoder);

/* Answers an ordinary query. Returns false to take the slow path. With true, *ret_deferral says
 * whether a cache entry that answered wants its refresh. */
bool fast_answer(struct fast *fast, const struct store *store, const struct engine_query *query,
                 struct response *response, struct engine_deferral *ret_deferral);

/* The outcome for a query whose answer has signatures if the name is ours. */
enum fast_outcome {
    FAST_LEFT,     /* take the slow path */
    FAST_ANSWERED, /* from the response cache, as by fast_answer: external names have no signatures
                    * of ours */
    FAST_BUILT,    /* `answer` has the plan, as answer_build makes it: addresses, or a denial */
};
enum fast_outcome fast_prepare(struct fast *fast, const struct store *store,
                               const struct engine_query *query, struct answer *answer,
                               struct response *response, struct engine_deferral *ret_deferral);

/* Looks up the names of queries to come, like engine_look_ahead. A NULL query is not an ordinary
 * one. With visibility it does nothing. The queries are borrowed until answered. count 0: forgets
 * the last batch and does not read the store. */
void fast_look_ahead(struct fast *fast, const struct store *store,
                     const struct fast_query *const *queries, size_t count);

#endif
