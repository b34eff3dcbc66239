/* A probe's two DNS messages: builds the query and parses what it needs of the response.
 *
 * RFC 1035 without EDNS, which every server supports. Pure; never allocates; the response's bytes
 * are untrusted. */
#ifndef EXECHEALTHZ_DNS_MESSAGE_H
#define EXECHEALTHZ_DNS_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"

enum {
    DNS_QUERY_MAX = DNS_HEADER_SIZE + DNAME_MAX + 4, /* the longest name, type and class */
    /* Sizes the read of a response. Without EDNS it has at most 512 bytes; a longer one is cut here
     * and so malformed. */
    DNS_REPLY_MAX = 4096,
};

struct dns_question {
    struct dname name;
    uint16_t type;
    uint16_t qclass;
};

enum dns_reply_kind {
    DNS_REPLY_UNRELATED, /* not the response to our query: keep waiting */
    DNS_REPLY_MALFORMED, /* id and question match, but the answers are malformed */
    DNS_REPLY_READ,
};

struct dns_reply {
    uint8_t rcode;
    bool is_truncated; /* TC is set */
    unsigned answers;  /* records of the answer section */
    /* The only answer is a TXT of one decimal string, as servers give hits.bind. */
    bool has_number;
    uint64_t number;
};

/* Writes a query with recursion desired. Returns the length. */
size_t dns_query_write(const struct dns_question *question, uint16_t id,
                       uint8_t out[DNS_QUERY_MAX]);

/* Fills *ret_reply only for DNS_REPLY_READ. The response must repeat the question,
 * case-insensitively; an error response may omit it. */
enum dns_reply_kind dns_reply_read(const struct dns_question *question, uint16_t id,
                                   const uint8_t *bytes, size_t len,
                                   struct dns_reply *ret_reply) MUST_CHECK;

/* Parses "A", "srv": the types worth querying. Returns false for any other word. */
bool dns_question_type(struct slice text, uint16_t *ret_type) MUST_CHECK;

#endif
