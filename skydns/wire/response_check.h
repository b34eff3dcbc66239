/* Checks whether a response from outside is usable. Called once for each that is ours by id,
 * question and capitals, before a client or the response cache sees any of it. Pure; any thread;
 * linear in the bytes, and ends at the first fault. */
#ifndef SKYDNS_WIRE_RESPONSE_CHECK_H
#define SKYDNS_WIRE_RESPONSE_CHECK_H

#include <stdbool.h>

#include "skydns/wire/response_parse.h"

/* Returns whether the response has the records that its head counts, each of the question's class,
 * with rdata that its type may have (rdata_layout.h). It does not check bytes after the last
 * record, types that the table lacks, and the class of OPT, TSIG, TKEY and SIG. */
bool response_is_sound(const struct parsed_response *response);

/* Returns whether a sound response says something about the question; otherwise another server may.
 * Not usable are SERVFAIL and REFUSED, errors of EDNS (BADVERS, to a query of version 0), and
 * responses without the question (upstream_is_bare_failure). Nor are referrals in response to a
 * query with RD: NOERROR without an answer, NS records and no SOA (RFC 2308 2.2). */
bool response_is_usable(const struct parsed_response *response);

#endif
