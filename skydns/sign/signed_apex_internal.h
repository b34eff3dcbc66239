/* Questions that keys answer rather than records: DNSKEY, CDS and CDNSKEY at a signed apex
 * (RFC 4035, RFC 7344), whoever asks; and with DO, DS where another zone begins, which its parent
 * answers (RFC 4035 3.1.4.1). Answers as they are before they are signed. For answer_signer.c; that
 * engine's thread only. */
#ifndef SKYDNS_SIGN_SIGNED_APEX_INTERNAL_H
#define SKYDNS_SIGN_SIGNED_APEX_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "skydns/answer/answer.h"
#include "skydns/sign/signed_zones.h"

/* What a zone's keys give of a type at its apex; NULL: nothing, records do. */
const struct dnssec_apex_set *signed_apex_set(const struct dnssec_zone *keys, uint16_t type);

/* Instead of answer_build. False: it is no such question. */
bool signed_apex_build(const struct signed_zones *zones, struct answer *answer,
                       const struct answer_input *input);

#endif
