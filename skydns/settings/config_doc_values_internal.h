/* Reads the kinds of JSON values in the document in etcd. jansson stays in the files around it.
 * Pure; main thread. */
#ifndef SKYDNS_SETTINGS_CONFIG_DOC_VALUES_INTERNAL_H
#define SKYDNS_SETTINGS_CONFIG_DOC_VALUES_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"

struct json_t;

/* Fails with ERR_SYNTAX: "`<value>`: expected <want>". */
int config_wrong(const struct json_t *value, const char *want, struct err *err);

/* Read a value; fail as config_wrong does. Texts are borrowed. */
int config_text(const struct json_t *value, const char **ret, struct err *err) MUST_CHECK;
int config_bool(const struct json_t *value, bool *ret, struct err *err) MUST_CHECK;

/* Reads a whole number, 2e9 included. */
int config_number(const struct json_t *value, int64_t min, int64_t max, int64_t *ret,
                  struct err *err) MUST_CHECK;

/* Reads a word of "all|own"; *choice is the default, which "" means. */
int config_choice(const struct json_t *value, const char *choices, int *choice,
                  struct err *err) MUST_CHECK;

/* Reads a list as the flag's, "a,b", or ["a","b"]; appends it with commas. */
int config_list(const struct json_t *value, struct buf *ret_list, struct err *err) MUST_CHECK;

#endif
