/* Adapts a nameserver's reply to its client: the client's id, spelling of the name, RD, CD and
 * EDNS, no more bytes than it accepts; AA clear and RA set, whatever the nameserver says; its AD
 * only to those who understand it. Records are passed on, their names compressed anew
 * (cache_image_writer.h). Replies that can be kept are made otherwise (cache_access.h): these are
 * errors, those with a TTL of 0, those for one network, and all of them without a cache. Pure; any
 * thread.
 */
#ifndef SKYDNS_ANSWER_RELAY_H
#define SKYDNS_ANSWER_RELAY_H

#include <stddef.h>
#include <stdint.h>

#include "skydns/wire/question.h"
#include "skydns/wire/response.h"
#include "skydns/wire/response_parse.h"

/* The records that are passed on, and what the OPT record adds to the header. */
struct relay_parts {
    uint16_t flags;
    struct response_span sections[RESPONSE_SECTIONS]; /* up to OPT */
    uint8_t extended_rcode;                           /* upper bits, RFC 6891 6.1.3 */
    size_t subnet_at;                                 /* the client-subnet option in OPT */
    uint8_t subnet_len;                               /* 0: none */
};

/* False when it is not a reply to this question, or its records do not parse. An error may come
 * without the question: then there are no records. */
bool relay_read(const struct question *question, const struct parsed_response *upstream,
                struct relay_parts *ret_parts) MUST_CHECK;

/* Writes the client's reply, at most `limit` bytes (at least 512). When not everything fits, the
 * additional section is dropped first, then the authority section if there is an answer, then
 * answers from the end, with TC set. `udp_size` is what our own OPT advertises. False when the
 * rcode is extended and the client has no EDNS, or a record's data is not what its type has. */
bool relay_write(const struct question *question, const struct parsed_response *upstream,
                 const struct relay_parts *parts, uint16_t udp_size, size_t limit,
                 struct response *response);

#endif
