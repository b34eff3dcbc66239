/* A key's value in the form in which it is written (record_to_json, Go's encoding/json): one object
 * on one line, known fields in lower case, text without escapes, whole numbers within their limits.
 * A hundred thousand of them are read at a start; this takes one in a single pass and allocates
 * nothing. Whatever else there may be is record_from_json's to judge: what this takes, that one
 * takes as well and says the same of it. Pure; any thread. */
#ifndef COMMON_DNS_RECORD_SCAN_H
#define COMMON_DNS_RECORD_SCAN_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "common/dns/record.h"

/* False: another form, or no record at all; *ret_view is untouched. The view borrows from the
 * value. */
bool record_scan(struct slice value, struct record_view *ret_view) MUST_CHECK;

#endif
