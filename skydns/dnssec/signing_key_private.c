/* Reads the private half of a key. */
#include "skydns/dnssec/signing_key_internal.h"

/* ---- Lines of `Name: value` ---- */

struct field {
    unsigned line;
    struct slice name, value;
};

static bool signing_key_private_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct slice signing_key_private_trim(const char *start, const char *end)
{
    while (start < end && signing_key_private_is_blank(*start)) {
        start++;
    }
    while (start < end && signing_key_private_is_blank(end[-1])) {
        end--;
    }
    return slice_of(start, (size_t)(end - start));
}

/* Takes the next line that is not empty: 1; a line without a colon: ERR_SYNTAX; the end: 0. */
static int next_field(struct slice *text, struct field *field, struct err *err)
{
    while (text->len > 0) {
        const char *start = text->ptr;
        const char *newline = memchr(start, '\n', text->len);
        const char *end = newline ? newline : start + text->len;
        size_t used = (size_t)(end - start) + (newline ? 1 : 0);
        *text = slice_of(start + used, text->len - used);
        field->line++;
        struct slice line = signing_key_private_trim(start, end);
        if (line.len == 0) {
            continue;
        }
        const char *colon = memchr(line.ptr, ':', line.len);
        if (!colon) {
            return err_set(err, ERR_SYNTAX, "line %u: expected `NAME: VALUE`", field->line);
        }
        field->name = signing_key_private_trim(line.ptr, colon);
        field->value = signing_key_private_trim(colon + 1, line.ptr + line.len);
        return 1;
    }
    return 0;
}

/* ---- The fields ---- */

static const char *const number_names[SIGNING_NUMBERS] = {
    [SIGNING_MODULUS] = "Modulus",
    [SIGNING_PUBLIC_EXPONENT] = "PublicExponent",
    [SIGNING_PRIVATE_EXPONENT] = "PrivateExponent",
    [SIGNING_PRIME_1] = "Prime1",
    [SIGNING_PRIME_2] = "Prime2",
    [SIGNING_EXPONENT_1] = "Exponent1",
    [SIGNING_EXPONENT_2] = "Exponent2",
    [SIGNING_COEFFICIENT] = "Coefficient",
    [SIGNING_PRIVATE_KEY] = "PrivateKey",
};

static bool name_is(const struct field *field, const char *name)
{
    return slice_equal(field->name, slice_str(name));
}

static int check_format(struct slice *text, struct field *field, struct err *err)
{
    int rc = next_field(text, field, err);
    bool is_known = rc > 0 && name_is(field, "Private-key-format") &&
                    (slice_equal(field->value, slice_str("v1.2")) ||
                     slice_equal(field->value, slice_str("v1.3")));
    return is_known ? 0
                    : err_set(err, ERR_SYNTAX,
                              "line %u: expected `Private-key-format: v1.3`, or v1.2, first",
                              field->line ? field->line : 1);
}

/* Checks "13 (ECDSAP256SHA256)"; the name is for people, and dnssec-keygen's and ldns-keygen's
 * differ. */
static int check_algorithm(const struct field *field, const struct signing_algorithm *algorithm,
                           struct err *err)
{
    size_t len = 0;
    while (len < field->value.len && !signing_key_private_is_blank(field->value.ptr[len])) {
        len++;
    }
    uint32_t number;
    if (!signing_text_number(slice_of(field->value.ptr, len), UINT8_MAX, &number)) {
        return err_set(err, ERR_SYNTAX, "line %u: expected `Algorithm: %u (%s)`", field->line,
                       algorithm->number, algorithm->name);
    }
    return number == algorithm->number
               ? 0
               : err_set(err, ERR_SYNTAX,
                         "line %u: algorithm %u; expected %u (%s), as the record has", field->line,
                         number, algorithm->number, algorithm->name);
}

static int parse_number(const struct field *field, enum signing_number which,
                        struct signing_numbers *numbers, struct err *err)
{
    struct writer out = writer_of(numbers->bytes[which], sizeof(numbers->bytes[which]));
    struct signing_base64 base64 = {.out = &out};
    if (numbers->len[which]) {
        return err_set(err, ERR_SYNTAX, "line %u: a second %s", field->line, number_names[which]);
    }
    bool is_base64 = signing_base64_add(&base64, field->value) && signing_base64_ends(&base64);
    base64.bits = 0;
    if (!is_base64 || (!out.failed && out.pos == 0)) {
        return err_set(err, ERR_SYNTAX, "line %u: %s: expected base64", field->line,
                       number_names[which]);
    }
    if (out.failed) {
        return err_set(err, ERR_SYNTAX, "line %u: %s: more than %zu bytes", field->line,
                       number_names[which], sizeof(numbers->bytes[which]));
    }
    numbers->len[which] = out.pos;
    return 0;
}

/* Takes one field; ignores those that signing does not need, such as Created. */
static int signing_key_private_take_field(const struct field *field,
                                          struct signing_numbers *numbers, struct err *err)
{
    if (name_is(field, "Label") || name_is(field, "Engine")) {
        return err_set(err, ERR_SYNTAX,
                       "line %u: a key in a hardware module; expected the private key itself",
                       field->line);
    }
    for (unsigned i = 0; i < SIGNING_NUMBERS; i++) {
        if (name_is(field, number_names[i])) {
            return parse_number(field, i, numbers, err);
        }
    }
    return 0;
}

static int check_complete(const struct signing_numbers *numbers, enum signing_kind kind,
                          struct err *err)
{
    unsigned from = kind == SIGNING_RSA ? SIGNING_MODULUS : SIGNING_PRIVATE_KEY;
    unsigned to = kind == SIGNING_RSA ? SIGNING_COEFFICIENT : SIGNING_PRIVATE_KEY;
    for (unsigned i = from; i <= to; i++) {
        if (!numbers->len[i]) {
            return err_set(err, ERR_SYNTAX, "no %s; expected the files of one pair",
                           number_names[i]);
        }
    }
    return 0;
}

int signing_key_parse_private(struct slice text, const struct signing_algorithm *algorithm,
                              struct signing_numbers *ret_numbers, struct err *err)
{
    struct field field = {.line = 0};
    bool has_algorithm = false;
    memset(ret_numbers->len, 0, sizeof(ret_numbers->len));
    int rc = check_format(&text, &field, err);
    while (rc == 0 && (rc = next_field(&text, &field, err)) > 0) {
        if (!name_is(&field, "Algorithm")) {
            rc = signing_key_private_take_field(&field, ret_numbers, err);
        } else if (has_algorithm) {
            rc = err_set(err, ERR_SYNTAX, "line %u: a second Algorithm", field.line);
        } else {
            has_algorithm = true;
            rc = check_algorithm(&field, algorithm, err);
        }
        if (rc) {
            return rc;
        }
    }
    if (rc) {
        return rc;
    }
    return has_algorithm ? check_complete(ret_numbers, algorithm->kind, err)
                         : err_set(err, ERR_SYNTAX, "no Algorithm; expected `Algorithm: %u (%s)`",
                                   algorithm->number, algorithm->name);
}
