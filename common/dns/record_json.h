/* The JSON value of a key, both ways. jansson stays inside. Pure; any thread.
 * Field names match without regard to case, of a field given twice the last counts, unknown fields
 * are ignored, null counts as absent, a wrong type refuses the value: as SkyDNS read them. */
#ifndef COMMON_DNS_RECORD_JSON_H
#define COMMON_DNS_RECORD_JSON_H

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/slice.h"
#include "common/dns/record.h"

/* A value longer than this is refused: 64 KiB is far above any record that fits a DNS message. */
enum { RECORD_JSON_MAX = 65536 };

/* On success the caller owns *ret_record (record_fini). Failure: ERR_SYNTAX, ERR_TOO_LARGE with a
 * message that names the field, what was found and what was expected (a port outside 0-65535, say);
 * *ret_record is untouched. A ttl above 2^31 - 1 counts as that (RFC 2181 section 8). */
int record_from_json(struct slice json, struct record *ret_record, struct err *err) MUST_CHECK;

/* Byte for byte what kube2sky 1.11-1.15 wrote: {"host":"10.0.0.1","priority":10,"weight":10,
 * "ttl":30,"targetstrip":0}, with "port" behind host when it is not 0. host, port, priority,
 * weight, ttl_s and targetstrip are printed, nothing else. */
void record_to_json(const struct record *record, struct buf *out);

/* FNV-1a 32 over the bytes, as lower-case hex without zero padding: the label of a value.
 * out has room for 8 digits and NUL; returns out. */
const char *record_label(struct slice value, char out[9]);

/* For main(), before anything else: jansson, wherever it is used, takes its memory from xalloc. */
void record_json_use_xalloc(void);

#endif
