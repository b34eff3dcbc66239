/* Names of types and response codes, printed in metrics, logs and pages, parsed from flags and
 * query parameters. Pure; any thread. */
#ifndef COMMON_DNS_DNS_NAMES_H
#define COMMON_DNS_DNS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"

enum {
    DNS_TYPE_TEXT_MAX = sizeof("TYPE65535"),
    DNS_RCODE_TEXT_MAX = sizeof("NXDOMAIN"), /* the longest; "RCODE255" is as long */
};

/* Returns "AAAA"; "TYPE1234" (RFC 3597) for types without a name here. It is out or a constant. */
const char *dns_type_text(uint16_t type, char out[DNS_TYPE_TEXT_MAX]);

/* Accepts a name, in any case. */
bool dns_type_from_name(struct slice name, uint16_t *ret_type) MUST_CHECK;

/* Accepts a name or "TYPE1234", in any case. */
bool dns_type_from_text(struct slice text, uint16_t *ret_type) MUST_CHECK;

/* Returns "NXDOMAIN", "YXDOMAIN", "BADVERS"; "RCODE12" for codes without a name. Constant. rcode is
 * at most DNS_RCODE_BADCOOKIE. */
const char *dns_rcode_name(size_t rcode);

/* Returns a response's code for log lines: "NXDOMAIN", "NOTAUTH" as TSIG has it, but "RCODE6",
 * since update codes (RFC 2136) mean nothing in a response to a query. It is out or a constant. */
const char *dns_rcode_text(uint8_t rcode, char out[DNS_RCODE_TEXT_MAX]);

#endif
