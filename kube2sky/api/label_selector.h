/* Validates a label selector of the Kubernetes API, for options.c: a typo in --label-selector
 * should fail at start, not as a 400 for every list. Pure.
 *
 *     selector     [requirement *("," requirement)]
 *     requirement  ["!"] key | key ("=" | "==" | "!=") value | key ("in" | "notin") "(" values ")"
 *     values       value *("," value)
 *     key          [prefix "/"] name
 *
 * A name, and a value that is not empty, is 1-63 letters, digits, "-", "_" and ".", with a letter
 * or digit at both ends; a prefix is a DNS name in lower case of at most 253 bytes. */
#ifndef KUBE2SKY_API_LABEL_SELECTOR_H
#define KUBE2SKY_API_LABEL_SELECTOR_H

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"

/* Checks a selector; the empty text selects everything. Fails with ERR_SYNTAX, what was expected
 * and where. */
int label_selector_check(struct slice text, struct err *err) MUST_CHECK;

#endif
