/* A response behind a search list's CNAME (response.h), beside the one to that name's own question:
 * the same records, one more in front. */
#ifndef TESTS_SUPPORT_SKYDNS_BEHIND_ALIAS_H
#define TESTS_SUPPORT_SKYDNS_BEHIND_ALIAS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"

#define BEHIND_ALIAS_NAME "\1w\4team\3svc\4test" /* with the root label, a client's question */

/* Asserts it of two whole messages whose AD is clear; returns the CNAME's TTL. Of those that
 * dns_text cannot print, it is not known: 0. */
uint32_t behind_alias_check(struct slice plain, struct slice aliased);

#endif
