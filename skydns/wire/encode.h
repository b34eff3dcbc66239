/* Encodes a plan (RFC 1035 4.1, RFC 6891): name compression, room reserved for OPT, truncation.
 *
 * The response never exceeds the limit. When it does not fit, the additional section is dropped
 * first, as a whole. Then answers are dropped from the end, and only then is TC set. One per
 * engine, on that engine's thread. */
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

/* Makes an encoder. udp_size is what the OPT records of responses advertise. */
struct encoder *encoder_new(uint16_t udp_size);
void encoder_free(struct encoder *encoder);

/* Writes at most `limit` bytes, which have room for header, question and OPT (reply_limit.h). */
void encode_plan(struct encoder *encoder, const struct question *question,
                 const struct answer_plan *plan, size_t limit, struct response *response);

/* Writes a response of only header, question (if it was parsed) and OPT (if the query had one); at
 * most DNS_UDP_SIZE bytes. `flags` may have AA, RA and TC. */
void encode_bare(const struct encoder *encoder, const struct question *question,
                 enum dns_rcode rcode, uint16_t flags, struct response *response);

/* A record's rdata as bytes with whole names, for zone transfers and signatures. A response has
 * compressed names. Pure; any thread. */
enum {
    RR_DATA_NUMBERS_MAX = 6, /* bytes before a name, */
    RR_DATA_SOA_NUMBERS = 20 /* and after those of an SOA */
};

/* Writes the rdata. `soa` is the answer's, for RR_SOA. */
void rr_data_write(const struct rr *rr, const struct answer_soa *soa, struct writer *w);

#endif
