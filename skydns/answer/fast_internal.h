/* The short way from a query's bytes to the reply's, for what is asked often: addresses, ports
 * (SRV), reverse names, names that have no such data and names that do not exist. It parses,
 * folds and looks up in one pass, copies what the store has ready (store_ready.h), and gives up
 * whenever anything is out of the ordinary: then the long way (answer.h, encode_internal.h)
 * answers. Where it answers, it says byte for byte what the long way says. One per engine; that
 * engine's thread only.
 *
 * Nothing is allocated, no lock, no system call. */
#ifndef SKYDNS_ANSWER_FAST_INTERNAL_H
#define SKYDNS_ANSWER_FAST_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "skydns/answer/query.h"
#include "skydns/store/engine_config.h"
#include "skydns/store/store.h"

struct encoder;
struct fast;

/* The encoder is borrowed for this call and for fast_configure. */
struct fast *fast_new(const struct engine_config *config, struct encoder *encoder);
void fast_free(struct fast *fast); /* NULL is fine */

/* Another configuration; borrowed until the next one. */
void fast_configure(struct fast *fast, const struct engine_config *config, struct encoder *encoder);

/* The reply's length; 0: not by the short way. The reply has room for engine_answer's. */
size_t fast_answer(struct fast *fast, const struct store *store, const struct engine_query *query,
                   uint8_t *reply);

/* As engine_look_ahead; count 0: none of before count any more, and the store is not read. */
void fast_look_ahead(struct fast *fast, const struct store *store, const struct slice *queries,
                     size_t count);

#endif
