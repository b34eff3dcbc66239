/* Writes queries to upstreams, and matches their responses. The query is our own, not a copy of the
 * client's: one question, EDNS with our own size, AD set (RFC 6840 5.7). So one response serves
 * clients that want to know whether the upstream validated it, and those that do not. Pure; any
 * thread; allocates nothing. */
#ifndef SKYDNS_UPSTREAM_UPSTREAM_MESSAGE_H
#define SKYDNS_UPSTREAM_UPSTREAM_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/dns/dname.h"
#include "skydns/wire/edns.h"

enum {
    /* Header, the longest name, type and class, OPT (RFC 6891 6.1.2), and both options. */
    UPSTREAM_QUERY_MAX = 12 + DNAME_MAX + 4 + EDNS_OPT_SIZE + EDNS_STUB_SIZE + EDNS_SUBNET_MAX,
    /* The most that an upstream may send us over UDP: fits every path unfragmented (RFC 9715). */
    UPSTREAM_UDP_SIZE = 1232,
    /* Over TLS, a query's length is a multiple of this (RFC 8467 4.1), three times at most. */
    UPSTREAM_BLOCK = 128,
    UPSTREAM_PADDED_MAX = 3 * UPSTREAM_BLOCK,
};

struct question;

/* A question, and the zone of its upstreams. Clients with equal questions can share an answer. */
struct upstream_question {
    struct dname name; /* lower case */
    uint16_t type;
    uint16_t qclass;
    uint16_t flags; /* RD and CD as the client set them */
    bool dnssec_ok;
    bool is_stub; /* for a stub zone's upstreams: sent with EDNS_OPTION_STUB, so that one that leads
                   * back here is noticed when the question returns */
    uint32_t zone_serial;            /* of the upstreams: zone_table.h */
    uint8_t subnet_len;              /* 0: none */
    uint8_t subnet[EDNS_SUBNET_MAX]; /* the client's whole option, passed on unchanged */
};

/* Returns whether two questions can share an answer. */
bool upstream_question_equal(const struct upstream_question *a, const struct upstream_question *b);
/* Returns a seeded hash, since clients choose the names. */
uint32_t upstream_question_hash(const struct upstream_question *question, uint32_t seed);

/* Returns a client's question; the caller sets the zone. */
struct upstream_question upstream_question_of(const struct question *question);

/* Writes a query. Returns its length. */
size_t upstream_query_write(const struct upstream_question *question, uint16_t id,
                            uint8_t out[UPSTREAM_QUERY_MAX]);

/* Removes the OPT record from a query. Returns the new length. */
size_t upstream_query_strip_edns(uint8_t *query, size_t len);

/* Adds the options edns-tcp-keepalive (RFC 7828: the response may say how long an idle connection
 * stays open) and padding to a query with OPT, for TLS. Returns the new length. */
size_t upstream_query_pad(uint8_t query[UPSTREAM_PADDED_MAX], size_t len);

/* Reads how long a server keeps an idle connection open, in tenths of a second (RFC 7828). Returns
 * false when the response does not say. */
bool upstream_reply_keepalive(const uint8_t *reply, size_t len, uint16_t *ret_ds);

/* Capitalises the letters of a query's name whose bit is set, one bit for each byte of the name. A
 * response must repeat them (draft-vixie-dnsext-dns0x20). */
void upstream_query_mix_case(uint8_t *query, size_t len, const uint8_t bits[DNAME_MAX / 8 + 1]);

/* Returns whether the response matches the query: id, QR, opcode, question; if exact_case, also
 * capitals. */
bool upstream_is_reply(const uint8_t *query, size_t query_len, const uint8_t *reply,
                       size_t reply_len, bool exact_case);

/* Returns whether the response matches but for its id, as one from a guesser does. */
bool upstream_has_wrong_id(const uint8_t *query, size_t query_len, const uint8_t *reply,
                           size_t reply_len);

/* Returns whether the server refuses to answer, without the question, as Unbound does to clients
 * that it does not serve. It is SERVFAIL, REFUSED, FORMERR or NOTIMP, and nothing else but an OPT
 * record: a guesser of the id gains nothing but a failure. upstream_is_edns_refusal comes first. */
bool upstream_is_bare_failure(const uint8_t *query, const uint8_t *reply, size_t reply_len);

/* Returns whether the server rejects the query as unintelligible, as servers without EDNS do (RFC
 * 6891 7): FORMERR or NOTIMP, perhaps without the question. */
bool upstream_is_edns_refusal(const uint8_t *query, size_t query_len, const uint8_t *reply,
                              size_t reply_len);

#endif
