/* Fits a nameserver's reply to the client it is for: the client's id, spelling of the name and
 * EDNS, no more bytes than it takes. Records are passed on as they came. Pure; any thread. */
#ifndef SKYDNS_ANSWER_RELAY_INTERNAL_H
#define SKYDNS_ANSWER_RELAY_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "skydns/answer/question.h"

/* Where the sections of a reply end, and what its OPT record adds to the header. */
struct relay_parts {
    size_t question_end;
    size_t answer_end;
    size_t authority_end;
    size_t additional_end; /* before OPT; what may come behind that is left out */
    uint16_t flags;
    uint16_t answers, authorities, additionals; /* up to those ends */
    uint8_t extended_rcode;                     /* upper bits, RFC 6891 6.1.3 */
};

/* Takes the reply apart. False when it is no reply to this question, or its records do not parse.
 * An error may come without the question: then there are no records. */
bool relay_read(const struct question *question, const uint8_t *upstream, size_t len,
                struct relay_parts *ret_parts) MUST_CHECK;

/* Writes the client's reply, at most `limit` bytes (at least 512). When not everything fits, the
 * additional section goes first, then the authority section if there is an answer, then all of it,
 * with TC. `udp_size` is what our own OPT offers. Returns the length; 0 when what the reply says
 * cannot be said to a client without EDNS. */
size_t relay_write(const struct question *question, const uint8_t *upstream,
                   const struct relay_parts *parts, uint16_t udp_size, size_t limit,
                   uint8_t *reply);

#endif
