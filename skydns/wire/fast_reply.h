/* The last step of the fast path: writes a reply, record by record. Pure; nothing allocates. */
#ifndef SKYDNS_WIRE_FAST_REPLY_H
#define SKYDNS_WIRE_FAST_REPLY_H

#include <stddef.h>
#include <stdint.h>

#include "common/dns/dns.h"
#include "skydns/wire/query.h"
#include "skydns/wire/query_parse.h"
#include "skydns/wire/response.h"

struct fast_reply {
    uint8_t *bytes;
    size_t len;
    size_t max;       /* of the whole reply */
    size_t limit;     /* of what may be written before OPT */
    unsigned name_at; /* where the name that is answered is written */
    bool is_cut;      /* an answer did not fit: TC */
    uint16_t answers, authorities, additionals;
};

/* Copies the question as typed. */
void fast_reply_begin(struct fast_reply *reply, const struct fast_query *question,
                      const struct engine_query *query, uint16_t max_udp_size,
                      const struct response *response);

/* Appends a record of class IN whose owner is written at `owner_at`. Returns the place for its
 * data, or NULL when it does not fit. */
uint8_t *fast_reply_record(struct fast_reply *reply, unsigned owner_at, unsigned type,
                           uint32_t ttl_s, size_t data_len);

/* OPT, if the query had one, and the header; ttl_s is the answers', or a denial's. The response's
 * other fields are set. */
void fast_reply_end(struct fast_reply *reply, const struct fast_query *question,
                    uint16_t max_udp_size, enum dns_rcode rcode, uint32_t ttl_s,
                    struct response *response);

static inline void fast_put16(uint8_t *at, unsigned v)
{
    at[0] = (uint8_t)(v >> 8);
    at[1] = (uint8_t)v;
}

#endif
