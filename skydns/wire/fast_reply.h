/* Writes a fast-path response, record by record: the last step. Pure; it allocates nothing. */
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
    size_t max;       /* of the whole response */
    size_t limit;     /* of the bytes before OPT */
    unsigned name_at; /* offset of the name that the records answer */
    bool is_cut;      /* an answer did not fit: TC */
    uint16_t answers, authorities, additionals;
};

/* Starts a response. Copies the question in the client's spelling. */
void fast_reply_begin(struct fast_reply *reply, const struct fast_query *question,
                      const struct engine_query *query, uint16_t max_udp_size,
                      const struct response *response);

/* Appends a record of class IN whose owner is written at `owner_at`. Returns the room for its
 * rdata, or NULL when it does not fit. */
uint8_t *fast_reply_record(struct fast_reply *reply, unsigned owner_at, unsigned type,
                           uint32_t ttl_s, size_t data_len);

/* Ends the response with OPT, if the query had one, and the header. ttl_s is the answers' TTL, or a
 * denial's. Sets the response's other fields. */
void fast_reply_end(struct fast_reply *reply, const struct fast_query *question,
                    uint16_t max_udp_size, enum dns_rcode rcode, uint32_t ttl_s,
                    struct response *response);

static inline void fast_put16(uint8_t *at, unsigned v)
{
    at[0] = (uint8_t)(v >> 8);
    at[1] = (uint8_t)v;
}

#endif
