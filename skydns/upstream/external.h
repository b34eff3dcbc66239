/* Reads a nameserver's reply about a name outside the domain, the target of a CNAME or SRV record.
 * Pure; any thread; allocates nothing. */
#ifndef SKYDNS_UPSTREAM_EXTERNAL_H
#define SKYDNS_UPSTREAM_EXTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/answer/external_answer.h"

/* Follows the reply's CNAMEs from the question's name and collects the addresses at the end, in the
 * order of struct external_answer. Skips unrelated records and those beyond EXTERNAL_RRS_MAX.
 * False, and an answer without records, if the reply is malformed, answers another question or has
 * an rcode other than NOERROR. A truncated reply gives what it has. */
bool external_read(const struct external_question *question, const uint8_t *reply, size_t len,
                   struct external_answer *ret_answer);

#endif
