/* Adapts an upstream's response to its client: the client's id, spelling of the name, RD, CD and
 * EDNS, and no more bytes than it accepts.
 *
 * AA is clear and RA set, whatever the upstream says, and AD is passed on only to clients that
 * understand it. Records are passed on with their names compressed again (cache_image_writer.h).
 * Responses that can be cached are written by cache_access.h. This handles the rest: errors, a TTL
 * of 0, answers for one network, and all responses when there is no cache. Pure; any thread. */
#ifndef SKYDNS_ANSWER_RELAY_H
#define SKYDNS_ANSWER_RELAY_H

#include <stddef.h>
#include <stdint.h>

#include "skydns/wire/question.h"
#include "skydns/wire/response.h"
#include "skydns/wire/response_parse.h"

/* The records that are passed on, and the bits that the OPT record adds to the header. */
struct relay_parts {
    uint16_t flags;
    struct response_span sections[RESPONSE_SECTIONS]; /* up to OPT */
    uint8_t extended_rcode;                           /* upper bits, RFC 6891 6.1.3 */
    size_t subnet_at;                                 /* the client-subnet option in OPT */
    uint8_t subnet_len;                               /* 0: none */
};

/* Reads the upstream's response. Returns false when it does not answer this question, or its
 * records do not parse. An error may come without the question: then there are no records. */
bool relay_read(const struct question *question, const struct parsed_response *upstream,
                struct relay_parts *ret_parts) MUST_CHECK;

/* Writes the client's response, at most `limit` bytes (at least 512). When not everything fits, it
 * drops the additional section first. It then drops the authority section if there is an answer,
 * and then answers from the end, with TC set.
 *
 * `udp_size` is what our own OPT advertises. Returns false when the rcode is extended and the
 * client has no EDNS, or when rdata does not match its type. */
bool relay_write(const struct question *question, const struct parsed_response *upstream,
                 const struct relay_parts *parts, uint16_t udp_size, size_t limit,
                 struct response *response);

#endif
