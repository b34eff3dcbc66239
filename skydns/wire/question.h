/* Parses and checks a client's message: header, the one question, EDNS. query_parse.h calls it for
 * every query that is not ordinary. The query log, transfers and upstream queries read stored
 * queries with it. No message that it rejects reaches the records. Pure; any thread. */
#ifndef SKYDNS_WIRE_QUESTION_H
#define SKYDNS_WIRE_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "skydns/tsig/tsig.h"
#include "skydns/wire/cookie_option.h"
#include "skydns/wire/edns.h"

/* Header, the longest name, type and class. */
enum { QUESTION_WIRE_MAX = DNS_HEADER_SIZE + DNAME_MAX + DNS_QUESTION_TAIL };

enum question_verdict {
    QUESTION_OK,
    QUESTION_DROP,    /* no header, or itself a response: a response to it could loop forever */
    QUESTION_FORMERR, /* not a message, not one question, broken EDNS, or a malformed client subnet
                       * or cookie (RFC 7871 6, RFC 7873 5.2.2) */
    QUESTION_NOTIMP,  /* an opcode other than QUERY */
    QUESTION_BADVERS, /* EDNS of an unsupported version, RFC 6891 6.1.3 */
    QUESTION_NONE,    /* no question but a cookie, RFC 7873 5.4: all else is as for QUESTION_OK */
};

struct question {
    uint16_t id;
    uint8_t opcode;
    bool recursion_desired;
    bool wants_authentic;   /* AD: it understands AD in the response, RFC 6840 5.7 */
    bool checking_disabled; /* CD */

    /* name.len 0: the question was not parsed, and a response repeats none. */
    struct dname name; /* in the client's spelling */
    uint16_t type;
    uint16_t qclass;

    bool has_edns;
    bool dnssec_ok;
    uint16_t udp_size; /* as in the client's EDNS */
    uint8_t asks;      /* EDNS_ASKS_...; of FORMERR, no cookie */
    bool is_from_stub; /* a server of stub zones forwards it: EDNS_OPTION_STUB */
    uint8_t subnet_len;
    uint8_t subnet[EDNS_SUBNET_MAX]; /* the whole client-subnet option; subnet_len 0: none */
    struct cookie cookie;            /* the first */
    struct tsig_place tsig;          /* set with any verdict but DROP; not read itself */
};

/* Fills in what could be parsed, with any verdict but DROP: a FORMERR repeats the question unless
 * the question itself was malformed. The question's name is not compressed in the query, so
 * responses may point into it at offset 12. */
enum question_verdict question_parse(const uint8_t *wire, size_t len,
                                     struct question *ret_question) MUST_CHECK;

/* Returns whether the bytes are a query at all: a header without QR and a whole question after it.
 * HTTP and gRPC refuse anything else with a status of theirs; the engine answers all other errors.
 */
bool question_is_there(const uint8_t *wire, size_t len) MUST_CHECK;

/* Returns a question with the fields of a query's header; the rest is zero. */
static inline struct question question_of_header(const uint8_t header[DNS_HEADER_SIZE])
{
    return (struct question){
        .id = (uint16_t)(header[0] << 8 | header[1]),
        .opcode = (header[2] & DNS_MASK_OPCODE >> 8) >> 3,
        .recursion_desired = (header[2] & DNS_FLAG_RD >> 8) != 0,
        .wants_authentic = (header[3] & DNS_FLAG_AD) != 0,
        .checking_disabled = (header[3] & DNS_FLAG_CD) != 0,
    };
}

/* Writes a query with the question, without EDNS. Returns its length. */
size_t question_write(const struct question *question, uint8_t out[QUESTION_WIRE_MAX]);

#endif
