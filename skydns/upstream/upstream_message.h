/* Messages to and from the nameservers. The query is ours, whatever the client's looked like: one
 * question, EDNS of our own size. Pure; any thread; nothing allocates. */
#ifndef SKYDNS_UPSTREAM_UPSTREAM_MESSAGE_H
#define SKYDNS_UPSTREAM_UPSTREAM_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/dns/dname.h"
#include "skydns/answer/edns.h"

enum {
    /* Header, the longest name, type and class, OPT (RFC 6891 6.1.2). */
    UPSTREAM_QUERY_MAX = 12 + DNAME_MAX + 4 + EDNS_OPT_SIZE,
    /* What a nameserver may send us over UDP: passes every path without fragments (RFC 9715). */
    UPSTREAM_UDP_SIZE = 1232,
};

/* What is asked. Two clients with equal ones can share an answer. */
struct upstream_question {
    struct dname name; /* lower case */
    uint16_t type;
    uint16_t qclass;
    uint16_t flags; /* RD, AD and CD as the client set them */
    bool dnssec_ok;
};

bool upstream_question_equal(const struct upstream_question *a, const struct upstream_question *b);
/* Seeded, since clients choose the names. */
uint32_t upstream_question_hash(const struct upstream_question *question, uint32_t seed);

/* Takes the question from a client's query. False: there is no readable one. */
bool upstream_question_read(const uint8_t *wire, size_t len,
                            struct upstream_question *ret_question) MUST_CHECK;

/* Returns the length. */
size_t upstream_query_write(const struct upstream_question *question, uint16_t id,
                            uint8_t out[UPSTREAM_QUERY_MAX]);

/* Takes the OPT record out of a query; returns the length left. */
size_t upstream_query_strip_edns(uint8_t *query, size_t len);

/* Turns letters of a query's name into capitals where `bits` says so, one bit a byte of the name;
 * a reply has to repeat them (draft-vixie-dnsext-dns0x20). */
void upstream_query_mix_case(uint8_t *query, size_t len, const uint8_t bits[DNAME_MAX / 8 + 1]);

/* Is it the reply to what was sent: id, QR, opcode, question? With exact_case the name's capitals
 * count. */
bool upstream_is_reply(const uint8_t *query, size_t query_len, const uint8_t *reply,
                       size_t reply_len, bool exact_case);

/* Does the server say that it does not understand the query, as those do that do not know EDNS
 * (RFC 6891 7)? FORMERR or NOTIMP, perhaps without the question. */
bool upstream_is_edns_refusal(const uint8_t *query, size_t query_len, const uint8_t *reply,
                              size_t reply_len);

#endif
