/* Resource records as people write them: "web.cluster.local. 30 A 10.0.0.1". Any thread. */
#ifndef SKYDNS_ANSWER_RR_TEXT_H
#define SKYDNS_ANSWER_RR_TEXT_H

#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "skydns/answer/answer.h"

enum { RR_TYPE_TEXT_MAX = sizeof("TYPE65535") };

/* "AAAA"; "TYPE1234" (RFC 3597) for those without a name here. Returns out or a constant. */
const char *rr_type_text(uint16_t type, char out[RR_TYPE_TEXT_MAX]);

/* Either form, in any case. */
bool rr_type_parse(const char *text, uint16_t *ret_type) MUST_CHECK;

/* Appends the record; of an SOA the plan has the data. */
void rr_text(const struct rr *rr, const struct answer_soa *soa, struct buf *out);

#endif
