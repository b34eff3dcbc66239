/* What a nameserver says to a question about a name outside the domain, which CNAME and SRV records
 * point to. Pure; any thread; nothing allocates. */
#ifndef SKYDNS_UPSTREAM_EXTERNAL_H
#define SKYDNS_UPSTREAM_EXTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/answer/external_answer.h"

/* Follows the reply's CNAMEs from the question's name and collects the addresses at the end, in the
 * order of struct external_answer. Records that are not on the way are left out, as are those
 * beyond EXTERNAL_RRS_MAX. False, and an answer without records, when the reply is malformed, is to
 * another question or says anything but NOERROR. A truncated reply gives what it has. */
bool external_read(const struct external_question *question, const uint8_t *reply, size_t len,
                   struct external_answer *ret_answer);

#endif
