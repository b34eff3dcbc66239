/* Resource records as people write them: "web.cluster.local. 30 A 10.0.0.1". Any thread. */
#ifndef SKYDNS_ANSWER_RR_TEXT_H
#define SKYDNS_ANSWER_RR_TEXT_H

#include "common/base/buf.h"
#include "skydns/answer/answer.h"

/* Appends the record; an SOA's data are in `soa`. */
void rr_text(const struct rr *rr, const struct answer_soa *soa, struct buf *out);

#endif
