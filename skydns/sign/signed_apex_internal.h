/* Questions that keys answer rather than records: DNSKEY, CDS and CDNSKEY at a signed apex
 * (RFC 4035, RFC 7344), whoever asks; and with DO, DS where another zone begins, which its parent
 * answers (RFC 4035 3.1.4.1). Replies as they are before they are signed. For signed_reply.c; that
 * engine's thread only. */
#ifndef SKYDNS_SIGN_SIGNED_APEX_INTERNAL_H
#define SKYDNS_SIGN_SIGNED_APEX_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dns.h"
#include "skydns/sign/signed_probe.h"
#include "skydns/sign/signed_question.h"
#include "skydns/sign/signed_zones.h"
#include "skydns/wire/query.h"
#include "skydns/wire/response.h"

/* What a zone's keys give of a type at its apex; NULL: nothing, records do. */
const struct dnssec_apex_set *signed_apex_set(const struct dnssec_zone *keys, uint16_t type);

/* False: it is no such question. `limit` as encode_plan's. */
bool signed_apex_reply(const struct signed_zones *zones, struct signed_probe *probe,
                       const struct signed_question *question, const struct engine_query *query,
                       size_t limit, struct response *response);

/* Makes a reply of header, question and OPT, with this rcode and perhaps TC; the flags are those of
 * answers of ours. */
void signed_apex_bare(const struct signed_zones *zones, const struct signed_question *question,
                      const struct engine_query *query, enum dns_rcode rcode, bool is_cut,
                      struct response *response);

#endif
