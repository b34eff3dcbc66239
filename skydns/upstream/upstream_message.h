/* Messages to and from the nameservers. The query is our own, not a copy of the client's: one
 * question, EDNS with our own size, AD set (RFC 6840 5.7), so that one reply serves clients that
 * want to know what the nameserver has validated and those that do not. Pure; any thread; allocates
 * nothing. */
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
    /* Most that a nameserver may send us over UDP: fits every path unfragmented (RFC 9715). */
    UPSTREAM_UDP_SIZE = 1232,
    /* Over TLS, queries have a multiple of this many bytes (RFC 8467 4.1), three at most. */
    UPSTREAM_BLOCK = 128,
    UPSTREAM_PADDED_MAX = 3 * UPSTREAM_BLOCK,
};

struct question;

/* What is asked, and of whom. Clients with equal questions can share an answer. */
struct upstream_question {
    struct dname name; /* lower case */
    uint16_t type;
    uint16_t qclass;
    uint16_t flags; /* RD and CD as the client set them */
    bool dnssec_ok;
    bool is_stub;         /* for a stub zone's nameservers: sent with EDNS_OPTION_STUB, so that one
                           * that leads back here is noticed when the question returns */
    uint32_t zone_serial; /* of the nameservers: zone_table.h */
    uint8_t subnet_len;   /* 0: none */
    uint8_t subnet[EDNS_SUBNET_MAX]; /* the client's whole option, passed on as it is */
};

bool upstream_question_equal(const struct upstream_question *a, const struct upstream_question *b);
/* Seeded, since clients choose the names. */
uint32_t upstream_question_hash(const struct upstream_question *question, uint32_t seed);

/* A client's question; whom to ask is for the caller to say. */
struct upstream_question upstream_question_of(const struct question *question);

/* Returns the length. */
size_t upstream_query_write(const struct upstream_question *question, uint16_t id,
                            uint8_t out[UPSTREAM_QUERY_MAX]);

/* Removes the OPT record from a query; returns the new length. */
size_t upstream_query_strip_edns(uint8_t *query, size_t len);

/* For TLS: adds the options edns-tcp-keepalive (RFC 7828: the reply may say how long an idle
 * connection is kept) and padding to a query with OPT; returns the new length. */
size_t upstream_query_pad(uint8_t query[UPSTREAM_PADDED_MAX], size_t len);

/* How long a server keeps an idle connection, in tenths of a second (RFC 7828). False: the reply
 * does not say. */
bool upstream_reply_keepalive(const uint8_t *reply, size_t len, uint16_t *ret_ds);

/* Capitalises the letters of a query's name whose bit is set, one bit per byte of the name; a reply
 * must repeat them (draft-vixie-dnsext-dns0x20). */
void upstream_query_mix_case(uint8_t *query, size_t len, const uint8_t bits[DNAME_MAX / 8 + 1]);

/* Does the reply match the query: id, QR, opcode, question; if exact_case, also capitals? */
bool upstream_is_reply(const uint8_t *query, size_t query_len, const uint8_t *reply,
                       size_t reply_len, bool exact_case);

/* Does the reply match but for its id, as of one who guesses? */
bool upstream_has_wrong_id(const uint8_t *query, size_t query_len, const uint8_t *reply,
                           size_t reply_len);

/* Does the server refuse to answer, without the question, as Unbound does to clients that it is not
 * for? SERVFAIL, REFUSED, FORMERR or NOTIMP, and nothing else but an OPT record: whoever guesses
 * the id gains nothing but a failure. upstream_is_edns_refusal comes first. */
bool upstream_is_bare_failure(const uint8_t *query, const uint8_t *reply, size_t reply_len);

/* Does the server reject the query as unintelligible, as servers without EDNS do (RFC 6891 7)?
 * FORMERR or NOTIMP, perhaps without the question. */
bool upstream_is_edns_refusal(const uint8_t *query, size_t query_len, const uint8_t *reply,
                              size_t reply_len);

#endif
