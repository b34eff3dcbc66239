/* Plan -> wire (RFC 1035 4.1, RFC 6891): name compression, room reserved for OPT, truncation. The
 * reply never exceeds the limit. When it does not fit, the additional section is dropped first, as
 * a whole; then answers are dropped from the end, and only then is TC set. One per engine; that
 * engine's thread only. */
#ifndef SKYDNS_WIRE_ENCODE_H
#define SKYDNS_WIRE_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/cursor.h"
#include "skydns/records/rr.h"
#include "skydns/wire/answer_plan.h"
#include "skydns/wire/question.h"
#include "skydns/wire/response.h"

struct encoder;

/* udp_size is what the OPT records of replies advertise. */
struct encoder *encoder_new(uint16_t udp_size);
void encoder_free(struct encoder *encoder);

/* Writes at most `limit` bytes, which have room for header, question and OPT (reply_limit.h). */
void encode_plan(struct encoder *encoder, const struct question *question,
                 const struct answer_plan *plan, size_t limit, struct response *response);

/* A reply of only header, question (if it was parsed) and OPT (if the query had one); at most
 * DNS_UDP_SIZE bytes. `flags` may have AA, RA and TC. */
void encode_bare(const struct encoder *encoder, const struct question *question,
                 enum dns_rcode rcode, uint16_t flags, struct response *response);

/* A record's data as bytes, its names whole: what zones transfer and what signatures are made of.
 * A plan has them with compressed names. Pure; any thread. */
enum {
    RR_DATA_NUMBERS_MAX = 6, /* bytes before a name, */
    RR_DATA_SOA_NUMBERS = 20 /* and behind those of an SOA */
};

/* `soa` is the answer's, for RR_SOA. */
void rr_data_write(const struct rr *rr, const struct answer_soa *soa, struct writer *w);

#endif
