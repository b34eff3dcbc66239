/* The two DNS messages of a probe: the query it sends, and what it has to know of the reply. RFC
 * 1035 without EDNS, which every server knows. Pure; nothing allocates; the reply's bytes are
 * anybody's. */
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
    /* What is read of a reply. Without EDNS 512 bytes is all that may come; more than this is cut,
     * and then malformed. */
    DNS_REPLY_MAX = 4096,
    DNS_RCODE_TEXT_MAX = 16, /* "NXDOMAIN", "RCODE15" */
};

struct dns_question {
    struct dname name;
    uint16_t type;
};

enum dns_reply_kind {
    DNS_REPLY_FOREIGN,   /* not the reply to our query: wait on */
    DNS_REPLY_MALFORMED, /* ours by its id and question, but its answers cannot be read */
    DNS_REPLY_READ,
};

struct dns_reply {
    uint8_t rcode;
    bool is_truncated; /* there is more than fits */
    unsigned answers;  /* records of the answer section */
};

/* Recursion desired, class IN. Returns the length. */
size_t dns_query_write(const struct dns_question *question, uint16_t id,
                       uint8_t out[DNS_QUERY_MAX]);

/* *ret_reply is filled in for DNS_REPLY_READ only. The question must be repeated, in any case of
 * letters; a server that reports an error may leave it out. */
enum dns_reply_kind dns_reply_read(const struct dns_question *question, uint16_t id,
                                   const uint8_t *bytes, size_t len,
                                   struct dns_reply *ret_reply) MUST_CHECK;

/* "NXDOMAIN". Returns out. */
const char *dns_rcode_text(uint8_t rcode, char out[DNS_RCODE_TEXT_MAX]);

/* "A", "srv": the types worth asking for. False: another word. */
bool dns_type_from_text(struct slice text, uint16_t *ret_type);

/* The name of a type that dns_type_from_text gave. */
const char *dns_type_text(uint16_t type);

#endif
