/* Parses and prints the JSON value of a key. jansson stays inside. Pure; any thread.
 *
 * Like SkyDNS: field names are case-insensitive, the last of duplicate fields counts, unknown
 * fields are ignored, null means absent, and a wrong type rejects the value. SkyDNS did not know
 * `rr` (record_rrs.h). */
#ifndef COMMON_DNS_RECORD_JSON_H
#define COMMON_DNS_RECORD_JSON_H

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "common/dns/record.h"

/* Bounds a value: 64 KiB is far more than a record that fits a DNS message. */
enum { RECORD_JSON_MAX = 65536 };

/* Parses a value. On success the caller owns *ret_record (record_fini). On failure (ERR_SYNTAX,
 * ERR_TOO_LARGE) *ret_record is untouched, and the message names the field, its value and what was
 * expected (for example, a port outside 0-65535). A ttl above 2^31 - 1 is capped to that (RFC 2181
 * section 8). */
int record_from_json(struct slice json, struct record *ret_record, struct err *err) MUST_CHECK;

/* Writes, byte for byte, what kube2sky 1.11-1.15 wrote:
 * {"host":"10.0.0.1","priority":10,"weight":10, "ttl":30,"targetstrip":0}, with "port" after host
 * unless it is 0. Prints only host, port, priority, weight, ttl_s and targetstrip. */
void record_to_json(const struct record *record, struct buf *out);

/* Writes the label of a value: FNV-1a 32 over the bytes, as lower-case hex without zero padding.
 * out has room for 8 digits and NUL; returns out. */
const char *record_label(struct slice value, char out[9]);

/* Makes jansson allocate with xalloc everywhere. Called first in main(). */
void record_json_use_xalloc(void);

#endif
