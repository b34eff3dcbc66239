#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/flags.h"
#include "skydns/settings/config_doc_values_internal.h"

/* Limits how much of a value an error message quotes. */
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

/* Reads a whole number, 2e9 included. */
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

/* Appends the choice as JSON. */
static void append_choice(struct buf *out, struct slice choice)
{
    buf_append_str(out, out->len ? " or \"" : "\"");
    buf_append_slice(out, choice);
    buf_append_str(out, "\"");
}

int config_choice(const json_t *value, const char *choices, int *choice, struct err *err)
{
    enum { WANT_MAX = 256 };
    const char *text = "";
    int r = config_text(value, &text, err);
    if (r < 0 || *text == '\0' || flags_parse_choice(choices, text, choice)) {
        return r;
    }
    CLEANUP_BUF struct buf want = buf_of(WANT_MAX);
    append_choice(&want, flags_choice(choices, *choice)); /* the default first */
    for (int i = 0; flags_choice(choices, i).len > 0; i++) {
        if (i != *choice) {
            append_choice(&want, flags_choice(choices, i));
        }
    }
    return config_wrong(value, buf_cstr(&want), err);
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
