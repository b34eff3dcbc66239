/* Writes the end of a response, after the answer. engine.c calls this. Pure but for libcrypto's
 * HMAC; any thread.
 *
 *     OPT of the answer, its extended error
 *     the options that belong to the client and the transport rather than to the answer:
 *         cookie       (cookie.h) the answer has left room for it
 *         keepalive    how long an idle connection stays open (RFC 7828), if there is room
 *         padding      (RFC 7830, RFC 8467) if there is room
 *     TSIG             the answer has left room for it; excludes keepalive and padding */
#ifndef SKYDNS_ENGINE_FINISH_INTERNAL_H
#define SKYDNS_ENGINE_FINISH_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "skydns/publish/engine_config.h"
#include "skydns/tsig/tsig.h"
#include "skydns/wire/cookie_option.h"
#include "skydns/wire/edns.h"
#include "skydns/wire/query.h"
#include "skydns/wire/response.h"

/* RFC 8467 4.1: the length of a padded response is a multiple of this. */
enum { FINISH_PADDING_BLOCK = 468 };

/* Returns those of the requested options that the response gets, as EDNS_ASKS_...: padding over
 * TLS, HTTPS, and HTTP, which a proxy may encrypt; keepalive over TLS. */
uint8_t finish_gets(const struct engine_config *config, const struct engine_query *query);

/* Returns how many bytes the answer leaves free for the options that the query `gets`. */
static inline size_t finish_reserves(const struct engine_config *config, unsigned gets)
{
    return (gets & EDNS_ASKS_COOKIE ? (size_t)COOKIE_OPTION_SIZE : 0) +
           (gets & EDNS_ASKS_NSID ? EDNS_OPTION_HEAD + (size_t)config->settings.nsid_len : 0);
}

/* Appends the options of query->gets to a response that ends in its OPT record. */
void finish_options(const struct engine_config *config, const struct engine_query *query,
                    struct response *response);

/* Appends the TSIG record to the response, if there is one, to a query with this one. A response
 * over UDP stays without if the key is unknown and its name so long that 512 bytes do not hold the
 * record. */
void finish_tsig(const struct tsig_query *tsig, const struct engine_query *query,
                 struct response *response);

#endif
