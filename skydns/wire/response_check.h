/* Whether a response from outside is one that can be used at all. Called once for each that is ours
 * by id, question and capitals, before anything of it reaches a client or the cache. Pure; any
 * thread; linear in the bytes, and ends at the first fault. */
#ifndef SKYDNS_WIRE_RESPONSE_CHECK_H
#define SKYDNS_WIRE_RESPONSE_CHECK_H

#include <stdbool.h>

#include "skydns/wire/response_parse.h"

/* It has the records that its head counts; each is of the question's class, and its rdata is what
 * its type may have (rdata_layout.h). Not checked: bytes behind the last record, types that the
 * table lacks, and the class of those that belong to the message (OPT, TSIG, TKEY, SIG). */
bool response_is_sound(const struct parsed_response *response);

/* Whether its server has anything to say of the question, of a sound one: not SERVFAIL or REFUSED,
 * no error of EDNS (BADVERS, to a query of version 0), no referral in reply to a query with RD
 * (NOERROR without an answer, NS records and no SOA: RFC 2308 2.2), and not without the question
 * (upstream_is_bare_failure). Another server may. */
bool response_is_usable(const struct parsed_response *response);

#endif
