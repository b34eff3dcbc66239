/* TSIG records around answers: checked and taken off a query before anything else looks at it, so
 * that it gets the answer of one without; and put behind the reply, whatever that is. One per
 * engine; that engine's thread only. */
#ifndef SKYDNS_ENGINE_TSIG_ENVELOPE_INTERNAL_H
#define SKYDNS_ENGINE_TSIG_ENVELOPE_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "skydns/tsig/tsig.h"
#include "skydns/wire/query.h"
#include "skydns/wire/response.h"

struct tsig_envelope {
    struct tsig_query tsig;
    uint8_t plain[TSIG_QUERY_MAX];
};

/* NULL: there are no keys, or the query has no TSIG record, or one, but no additional records: then
 * it is as any other that is passed over. Costs a hash if it has one. */
const struct tsig_envelope *tsig_envelope_open(struct tsig_envelope *envelope,
                                               const struct tsig_keys *keys,
                                               const struct engine_query *query);

/* The query without the record, which reserves room for that of the reply; not of MALFORMED.
 * Borrows from the envelope. */
struct engine_query tsig_envelope_query(const struct tsig_envelope *envelope,
                                        const struct engine_query *query);

/* Appends the record to a response, if there is one. One over UDP that names an unknown key at such
 * length that 512 bytes do not hold it stays as it is. */
void tsig_envelope_close(const struct tsig_envelope *envelope, const struct engine_query *query,
                         struct response *response);

#endif
