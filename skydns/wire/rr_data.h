/* A record's data as bytes, its names whole: what zones transfer and what signatures are made of.
 * encode.h writes the same with compressed names. Pure; any thread. */
#ifndef SKYDNS_WIRE_RR_DATA_H
#define SKYDNS_WIRE_RR_DATA_H

#include "common/base/cursor.h"
#include "skydns/records/rr.h"
#include "skydns/wire/answer_plan.h"

enum {
    RR_DATA_NUMBERS_MAX = 6, /* bytes before a name, */
    RR_DATA_SOA_NUMBERS = 20 /* and behind those of an SOA */
};

/* `soa` is the answer's, for RR_SOA. */
void rr_data_write(const struct rr *rr, const struct answer_soa *soa, struct writer *w);

/* Its parts, in their order; an empty text is one empty string. */
void rr_data_write_numbers(const struct rr *rr, struct writer *w);
void rr_data_write_text(struct slice text, struct writer *w);
void rr_data_write_soa_numbers(const struct answer_soa *soa, struct writer *w);

#endif
