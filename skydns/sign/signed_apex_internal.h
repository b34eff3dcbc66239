/* Builds answers to questions that keys answer rather than records: DNSKEY, CDS and CDNSKEY at a
 * signed apex.
 *
 * That holds for every client (RFC 4035, RFC 7344). With DO, it also builds the DS of another
 * zone's apex, which that zone's parent answers (RFC 4035 3.1.4.1). The answers are not signed yet.
 * For answer_signer.c; that engine's thread only. */
#ifndef SKYDNS_SIGN_SIGNED_APEX_INTERNAL_H
#define SKYDNS_SIGN_SIGNED_APEX_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "skydns/answer/answer.h"
#include "skydns/sign/signed_zones.h"

/* Returns what a zone's keys have of a type at its apex. NULL: nothing; records answer. */
const struct dnssec_apex_set *signed_apex_set(const struct dnssec_zone *keys, uint16_t type);

/* Replaces answer_build for such questions. Returns false for any other. */
bool signed_apex_build(const struct signed_zones *zones, struct answer *answer,
                       const struct answer_input *input);

#endif
