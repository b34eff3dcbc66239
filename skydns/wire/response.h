/* Describes a response being made, so that it need not be parsed again: its writer fills this in,
 * and counters, log and taps read it with the functions below. Plain data. */
#ifndef SKYDNS_WIRE_RESPONSE_H
#define SKYDNS_WIRE_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"

struct response {
    uint8_t *bytes;     /* the caller's: as many as engine_answer's response has */
    struct slice asked; /* the client's name, if a candidate name of its search list answers its
                         * question (search_alias_write); else empty. Set before it is written */
    size_t len;         /* 0: there is no response, and the rest means nothing */
    size_t opt_at;      /* its OPT record, with only TSIG after it; 0: it has none */
    uint8_t name_len;   /* of the name in the question that it repeats; 0: it repeats none */
    bool lacks_target;  /* a record of ours leads to an external name that does not exist */
};

/* ---- The beginning ---- */

/* The beginning of a response, if a candidate name of the client's search list answers it. A CNAME
 * to that name follows the client's question. The records point to the CNAME's data as those of
 * other responses point to the question.
 *
 *     header | question: web.default.svc.cluster.local. A | records of web.example.
 *              \______ name_at = 12                         \_ records_at
 *     header | question: asked | asked CNAME web.example. | records of web.example.
 *                                            \_ name_at      \_ records_at
 *
 * All writers of responses use it. */
enum {
    SEARCH_ALIAS_HEAD = 2 + DNS_RR_HEAD, /* the CNAME without its data; its owner is a pointer */
    /* The most by which a name's offset grows. */
    SEARCH_ALIAS_SHIFT_MAX = DNAME_MAX + DNS_QUESTION_TAIL + SEARCH_ALIAS_HEAD,
};

/* Offsets of the uncompressed name that the records point to, and of the first record. */
struct response_start {
    size_t name_at, records_at;
};

/* Returns the offsets. `asked` is empty if the client's question is the one that is answered. */
static inline struct response_start response_start_of(struct slice asked, size_t name_len)
{
    const size_t name_at =
        DNS_HEADER_SIZE + (asked.len > 0 ? asked.len + DNS_QUESTION_TAIL + SEARCH_ALIAS_HEAD : 0);
    return (struct response_start){name_at, name_at + name_len +
                                                (asked.len > 0 ? 0 : (size_t)DNS_QUESTION_TAIL)};
}

/* Writes question and CNAME, all up to records_at, but the TTL. `asked` is not empty, and `name` is
 * the name that the records are about. */
void search_alias_write(uint8_t *message, struct slice asked, struct slice name, uint16_t type,
                        uint16_t qclass);

/* Sets the CNAME's TTL: the smallest of the answers, and of a denial's SOA (RFC 2308 5). */
void search_alias_set_ttl(uint8_t *message, struct slice asked, uint32_t ttl_s);

/* ---- A complete response ---- */

static inline unsigned response_answers(const struct response *response)
{
    return (unsigned)response->bytes[6] << 8 | response->bytes[7];
}

static inline bool response_has_answer(const struct response *response)
{
    return response_answers(response) != 0;
}

/* Returns whether it has a record, not counting additional ones. */
static inline bool response_has_record(const struct response *response)
{
    return response_has_answer(response) || (response->bytes[8] | response->bytes[9]) != 0;
}

/* Returns the header's four bits of the rcode. */
static inline unsigned response_low_rcode(const struct response *response)
{
    return response->bytes[3] & DNS_MASK_RCODE;
}

/* Turns a denial of the name into one of the type: its SOA says for how long either holds. Clears
 * AD, since no signature covers it. */
static inline void response_set_no_data(struct response *response)
{
    response->bytes[3] = (uint8_t)(response->bytes[3] & ~(DNS_MASK_RCODE | DNS_FLAG_AD));
}

/* Adds OPT's bits (RFC 6891 6.1.3) if that gives a code that we set ourselves, which never has
 * records: at most BADCOOKIE. For an upstream's other extended code, it returns the header's bits.
 */
static inline unsigned response_rcode(const struct response *response)
{
    enum { OPT_EXTENDED_AT = 5 };
    const unsigned low = response_low_rcode(response);
    if (response->opt_at == 0 || response_has_record(response)) {
        return low;
    }
    const unsigned all = (unsigned)response->bytes[response->opt_at + OPT_EXTENDED_AT] << 4 | low;
    return all == DNS_RCODE_BADVERS || all == DNS_RCODE_BADCOOKIE ? all : low;
}

static inline bool response_is_authoritative(const struct response *response)
{
    return (response->bytes[2] & DNS_FLAG_AA >> 8) != 0;
}

/* Returns whether RA is set. */
static inline bool response_offers_recursion(const struct response *response)
{
    return (response->bytes[3] & DNS_FLAG_RA) != 0;
}

static inline bool response_is_truncated(const struct response *response)
{
    return (response->bytes[2] & DNS_FLAG_TC >> 8) != 0;
}

/* Returns the question's name, in the client's spelling; name_len bytes. */
static inline const uint8_t *response_name(const struct response *response)
{
    return response->bytes + DNS_HEADER_SIZE;
}

/* Returns the question's type. The response has a question. */
static inline uint16_t response_type(const struct response *response)
{
    const uint8_t *type = response_name(response) + response->name_len;
    return (uint16_t)(type[0] << 8 | type[1]);
}

/* Returns the seconds that a cache may store the response (RFC 8484 5.1): the smallest TTL of the
 * answer section. A negative one counts also the smaller of the SOA's TTL and its minimum (RFC 2308
 * 5). Else 0. Nothing else reads written records: few transports need this, and writers need not
 * count for the others. */
uint32_t response_max_age_s(const struct response *response);

#endif
