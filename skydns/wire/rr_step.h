/* Steps from record to record of a message without reading names.
 *
 * It is for messages that we have made or parsed before; response_parse.h is for those of
 * upstreams. It is also for the records of queries, whose names do not matter. Steps stay within
 * the bytes, whatever these say. A name is only skipped (dname_skip), and may lead anywhere. Pure;
 * any thread; allocates nothing. */
#ifndef SKYDNS_WIRE_RR_STEP_H
#define SKYDNS_WIRE_RR_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/cursor.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"

/* A record's fields between owner and rdata (RFC 1035 4.1.3), and the offset of its rdata. */
struct rr_step {
    uint16_t type, rr_class;
    uint32_t ttl_s; /* RFC 2181 8: 0 if its top bit is set */
    size_t data_at;
    uint16_t data_len;
};

/* Moves past a question. Returns false like dname_skip; the reader has failed then. */
MUST_CHECK static inline bool rr_step_question(struct reader *r)
{
    return dname_skip(r) && reader_take(r, DNS_QUESTION_TAIL);
}

/* Moves from the owner's end to the rdata's end. Returns false, and the reader has failed, when
 * there is no whole record. */
static inline bool rr_step_body(struct reader *r, struct rr_step *ret)
{
    ret->type = reader_u16(r);
    ret->rr_class = reader_u16(r);
    ret->ttl_s = reader_u32(r);
    ret->ttl_s = ret->ttl_s > INT32_MAX ? 0 : ret->ttl_s;
    ret->data_len = reader_u16(r);
    ret->data_at = r->pos;
    return reader_take(r, ret->data_len) != NULL;
}

/* Moves past a whole record. */
MUST_CHECK static inline bool rr_step_next(struct reader *r, struct rr_step *ret)
{
    return dname_skip(r) && rr_step_body(r, ret);
}

#endif
