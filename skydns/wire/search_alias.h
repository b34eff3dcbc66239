/* How a response begins whose question is answered with a name of the client's search path: behind
 * the client's question comes a CNAME to that name, and the records point to the CNAME's data as
 * those of other responses point to the question.
 *
 *     header | question: web.default.svc.cluster.local. A | records of web.example.
 *              \______ name_at = 12                         \_ records_at
 *     header | question: asked | asked CNAME web.example. | records of web.example.
 *                                            \_ name_at      \_ records_at
 *
 * Called by all writers of responses. Pure; any thread. */
#ifndef SKYDNS_WIRE_SEARCH_ALIAS_H
#define SKYDNS_WIRE_SEARCH_ALIAS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"

enum {
    SEARCH_ALIAS_HEAD = 2 + DNS_RR_HEAD, /* the CNAME without its data; its owner is a pointer */
    /* By which a name's place grows at most. */
    SEARCH_ALIAS_SHIFT_MAX = DNAME_MAX + DNS_QUESTION_TAIL + SEARCH_ALIAS_HEAD,
};

/* Offsets of the uncompressed name that the records point to, and of the first record. */
struct response_start {
    size_t name_at, records_at;
};

/* `asked` is empty where the client's question is the one that is answered. */
static inline struct response_start response_start_of(struct slice asked, size_t name_len)
{
    const size_t name_at =
        DNS_HEADER_SIZE + (asked.len > 0 ? asked.len + DNS_QUESTION_TAIL + SEARCH_ALIAS_HEAD : 0);
    return (struct response_start){name_at, name_at + name_len +
                                                (asked.len > 0 ? 0 : (size_t)DNS_QUESTION_TAIL)};
}

/* Writes question and CNAME, all up to records_at; the TTL is to be set. `asked` is not empty, and
 * `name` is what the records are about. */
void search_alias_write(uint8_t *message, struct slice asked, struct slice name, uint16_t type,
                        uint16_t qclass);

/* The smallest TTL of the answers, and of a denial's SOA (RFC 2308 5). */
void search_alias_set_ttl(uint8_t *message, struct slice asked, uint32_t ttl_s);

#endif
