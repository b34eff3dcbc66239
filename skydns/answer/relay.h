/* Adapts a nameserver's reply to its client: the client's id, spelling of the name, RD, CD and
 * EDNS, no more bytes than it accepts; AA clear and RA set, whatever the nameserver says; its AD
 * only to those who understand it. Records are passed on unchanged. Replies that can be kept are
 * made otherwise (kept_access.h): these are errors, those with a TTL of 0, those for one
 * network, and all of them without a cache. Pure; any thread. */
#ifndef SKYDNS_ANSWER_RELAY_H
#define SKYDNS_ANSWER_RELAY_H

#include <stddef.h>
#include <stdint.h>

#include "skydns/wire/question.h"
#include "skydns/wire/response.h"
#include "skydns/wire/response_parse.h"

/* Where the sections of a reply end, and what its OPT record adds to the header. */
struct relay_parts {
    size_t question_end;
    size_t answer_end;
    size_t authority_end;
    size_t additional_end; /* before OPT; anything after OPT is dropped */
    uint16_t flags;
    uint16_t answers, authorities, additionals; /* up to those ends */
    uint8_t extended_rcode;                     /* upper bits, RFC 6891 6.1.3 */
    size_t subnet_at;                           /* the client-subnet option in OPT */
    uint8_t subnet_len;                         /* 0: none */
};

/* False when it is not a reply to this question, or its records do not parse. An error may come
 * without the question: then there are no records. */
bool relay_read(const struct question *question, const struct parsed_response *upstream,
                struct relay_parts *ret_parts) MUST_CHECK;

/* Writes the client's reply, at most `limit` bytes (at least 512). When not everything fits, the
 * additional section is dropped first, then the authority section if there is an answer, then all
 * records, with TC set. `udp_size` is what our own OPT advertises. False when the rcode is
 * extended and the client has no EDNS. */
bool relay_write(const struct question *question, const struct parsed_response *upstream,
                 const struct relay_parts *parts, uint16_t udp_size, size_t limit,
                 struct response *response);

#endif
