/* Fast path for a key's value in the form that writers produce (record_to_json, Go's
 * encoding/json).
 *
 * That is one object on one line, known fields in lower case, text without escapes, whole numbers
 * within their limits. A start reads a hundred thousand of them; this parses one in a single pass
 * without allocating. Everything else falls back to record_from_json, which accepts every value
 * accepted here with the same result. Pure; any thread. */
#ifndef COMMON_DNS_RECORD_SCAN_H
#define COMMON_DNS_RECORD_SCAN_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "common/dns/record.h"

/* Returns false, with *ret_view untouched, for another form, or for no record. The view borrows
 * from the value. */
bool record_scan(struct slice value, struct record *ret_view) MUST_CHECK;

#endif
