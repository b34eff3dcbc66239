/* The last step of the fast path: writes a reply, record by record. Pure; nothing allocates. */
#ifndef SKYDNS_WIRE_FAST_REPLY_H
#define SKYDNS_WIRE_FAST_REPLY_H

#include <stddef.h>
#include <stdint.h>

#include "common/dns/dns.h"
#include "skydns/wire/fast_query.h"
#include "skydns/wire/query.h"

struct fast_reply {
    uint8_t *bytes;
    size_t len;
    size_t opt_at; /* at the end; 0: there is none */
    size_t max;    /* of the whole reply */
    size_t limit;  /* of what may be written before OPT */
    bool is_cut;   /* an answer did not fit: TC */
    uint16_t answers, authorities, additionals;
};

/* Copies the question as typed. `bytes` is as large as engine_answer's reply. */
void fast_reply_begin(struct fast_reply *reply, const struct fast_query *question,
                      const struct engine_query *query, uint16_t max_udp_size, uint8_t *bytes);

/* Appends a record of class IN whose owner is written at `owner_at`. Returns the place for its
 * data, or NULL when it does not fit. */
uint8_t *fast_reply_record(struct fast_reply *reply, unsigned owner_at, unsigned type,
                           uint32_t ttl_s, size_t data_len);

/* OPT, if the query had one, and the header. Returns the reply's length. */
size_t fast_reply_end(struct fast_reply *reply, const struct fast_query *question,
                      uint16_t max_udp_size, enum dns_rcode rcode);

static inline void fast_put16(uint8_t *at, unsigned v)
{
    at[0] = (uint8_t)(v >> 8);
    at[1] = (uint8_t)v;
}

#endif
