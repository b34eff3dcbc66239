#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "skydns/settings/config_doc_fields_internal.h"

/* How much of a value an error message quotes. */
enum { SHOWN_BYTES = 40 };

int config_wrong(const json_t *value, const char *want, struct err *err)
{
    char *found = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    int r = err_set(err, ERR_SYNTAX, "`%.*s`: expected %s", SHOWN_BYTES, found ? found : "?", want);
    free(found);
    return r;
}

int config_text(const json_t *value, const char **ret, struct err *err)
{
    if (!json_is_string(value)) {
        return config_wrong(value, "a string", err);
    }
    *ret = json_string_value(value); /* without NUL: the decoder rejects it */
    return 0;
}

int config_bool(const json_t *value, bool *ret, struct err *err)
{
    if (!json_is_boolean(value)) {
        return config_wrong(value, "true or false", err);
    }
    *ret = json_is_true(value);
    return 0;
}

/* 2e9 is a whole number too. */
int config_number(const json_t *value, int64_t min, int64_t max, int64_t *ret, struct err *err)
{
    char want[64];
    double real = json_number_value(value);
    bool is_whole = json_is_integer(value) || (json_is_real(value) && trunc(real) == real);
    if (is_whole && real >= -9e15 && real <= 9e15) { /* these are exact */
        int64_t number = json_is_integer(value) ? json_integer_value(value) : (int64_t)real;
        if (number >= min && number <= max) {
            *ret = number;
            return 0;
        }
    }
    (void)snprintf(want, sizeof(want), "a whole number from %" PRId64 " to %" PRId64, min,
                   max); /* fits */
    return config_wrong(value, want, err);
}

/* Zero is the default. */
int config_count(const json_t *value, int64_t max, int64_t if_zero, int64_t *ret, struct err *err)
{
    int r = config_number(value, 0, max, ret, err);
    if (r == 0 && *ret == 0) {
        *ret = if_zero;
    }
    return r;
}

int config_list(const json_t *value, struct buf *ret_list, struct err *err)
{
    if (!json_is_array(value) && !json_is_string(value)) {
        return config_wrong(value, "a string like the flag's, or a list of strings", err);
    }
    buf_append_str(ret_list, json_is_string(value) ? json_string_value(value) : "");
    for (size_t i = 0; i < json_array_size(value); i++) {
        const char *text = "";
        int r = config_text(json_array_get(value, i), &text, err);
        if (r < 0) {
            return r;
        }
        buf_append_str(ret_list, i ? "," : "");
        buf_append_str(ret_list, text);
    }
    return 0;
}
