#include "common/dns/record_json.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"
#include "common/dns/record_rrs.h"

/* Accepts the 32 bits that SkyDNS did; record_ttl_s caps them to 31. */
#define TTL_TAKEN UINT32_MAX
#define SHORT_MAX UINT16_MAX

/* Bounds what an error message quotes of a value. */
enum { SHOWN_BYTES = 40 };

static int wrong_type(const char *field, const json_t *value, const char *want, struct err *err)
{
    char *found = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    int r = err_set(err, ERR_SYNTAX, "field `%s`: `%.*s`: expected %s", field, SHOWN_BYTES,
                    found ? found : "?", want);
    free(found);
    return r;
}

/* Takes a string, borrowed from the value. */
static int record_json_take_string(const char *field, const json_t *value, struct slice *out,
                                   struct err *err)
{
    if (!json_is_string(value)) {
        return wrong_type(field, value, "a string", err);
    }
    *out = slice_of(json_string_value(value), json_string_length(value));
    return 0;
}

static int record_json_take_number(const char *field, const json_t *value, int64_t max,
                                   int64_t *ret, struct err *err)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > max) {
        char want[48];
        (void)snprintf(want, sizeof(want), "a whole number from 0 to %" PRId64, max); /* fits */
        return wrong_type(field, value, want, err);
    }
    *ret = json_integer_value(value);
    return 0;
}

static int record_json_take_short(const char *field, const json_t *value, uint16_t *out,
                                  struct err *err)
{
    int64_t number = 0;
    int r = record_json_take_number(field, value, SHORT_MAX, &number, err);
    if (r == 0) {
        *out = (uint16_t)number;
    }
    return r;
}

static int record_json_take_ttl(const json_t *value, uint32_t *out, struct err *err)
{
    int64_t number = 0;
    int r = record_json_take_number("ttl", value, TTL_TAKEN, &number, err);
    if (r == 0) {
        *out = record_ttl_s((uint32_t)number);
    }
    return r;
}

static int take_mail(const json_t *value, bool *out, struct err *err)
{
    if (!json_is_boolean(value)) {
        return wrong_type("mail", value, "true or false", err);
    }
    *out = json_is_true(value);
    return 0;
}

/* Packs the texts. */
static int take_rrs(const json_t *value, struct buf *packed, struct err *err)
{
    if (!json_is_array(value)) {
        return wrong_type("rr", value, "a list of strings", err);
    }
    if (json_array_size(value) > RECORD_RRS_COUNT_MAX) {
        return err_set(err, ERR_TOO_LARGE, "field `rr`: expected at most %d records",
                       RECORD_RRS_COUNT_MAX);
    }
    buf_clear(packed);
    for (size_t i = 0; i < json_array_size(value); i++) {
        struct slice text;
        int r = record_json_take_string("rr", json_array_get(value, i), &text, err);
        r = r < 0 ? r : record_rrs_add(text, packed, err);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static int record_json_take_field(const char *name, const json_t *value, struct record *r,
                                  struct buf *rrs, struct err *err)
{
    static const char *const strings[RECORD_RR] = {
        [RECORD_HOST] = "host", [RECORD_TEXT] = "text", [RECORD_GROUP] = "group"};
    static const char *const shorts[] = {"port", "priority", "weight", "targetstrip"};
    uint16_t *const members[] = {&r->port, &r->priority, &r->weight, &r->targetstrip};
    if (json_is_null(value)) {
        return 0;
    }
    for (unsigned i = 0; i < ARRAY_LEN(strings); i++) {
        if (strcasecmp(name, strings[i]) == 0) {
            return record_json_take_string(strings[i], value, &r->strings[i], err);
        }
    }
    for (unsigned i = 0; i < ARRAY_LEN(shorts); i++) {
        if (strcasecmp(name, shorts[i]) == 0) {
            return record_json_take_short(shorts[i], value, members[i], err);
        }
    }
    if (strcasecmp(name, "rr") == 0) {
        return take_rrs(value, rrs, err);
    }
    if (strcasecmp(name, "ttl") == 0) {
        return record_json_take_ttl(value, &r->ttl_s, err);
    }
    return strcasecmp(name, "mail") == 0 ? take_mail(value, &r->mail, err) : 0;
}

static int record_json_take_fields(json_t *object, struct record *ret_record, struct err *err)
{
    struct record record = {.ttl_s = 0};
    const char *name;
    json_t *value;
    int r = 0;
    CLEANUP_BUF struct buf rrs = buf_of(RECORD_RRS_MAX);
    json_object_foreach(object, name, value)
    {
        r = record_json_take_field(name, value, &record, &rrs, err);
        if (r < 0) {
            break;
        }
    }
    if (r == 0) {
        record.rrs = buf_slice(&rrs);
        *ret_record = record_copy(&record);
    }
    return r;
}

int record_from_json(struct slice json, struct record *ret_record, struct err *err)
{
    json_error_t why;
    if (json.len > RECORD_JSON_MAX) {
        return err_set(err, ERR_TOO_LARGE, "value of %zu bytes: expected at most %d", json.len,
                       RECORD_JSON_MAX);
    }
    json_t *root = json_loadb(json.len ? json.ptr : "", json.len, 0, &why);
    if (!root) {
        return err_set(err, ERR_SYNTAX, "not JSON: %s at byte %d", why.text, why.position);
    }
    int r = json_is_object(root)
                ? record_json_take_fields(root, ret_record, err)
                : err_set(err, ERR_SYNTAX, "expected a JSON object like {\"host\":\"10.0.0.1\"}");
    json_decref(root);
    return r;
}

static void record_json_put_string(struct slice s, struct buf *out)
{
    const char *plain = s.ptr, *end = s.ptr + s.len; /* plain: what is not written yet */
    buf_append_char(out, '"');
    for (const char *p = plain; p < end; p++) {
        bool is_quoted = *p == '"' || *p == '\\', is_control = (unsigned char)*p < ' ';
        if (is_quoted || is_control) {
            buf_append(out, plain, (size_t)(p - plain));
            plain = is_control ? p + 1 : p;
        }
        if (is_quoted) {
            buf_append_char(out, '\\');
        } else if (is_control) {
            buf_printf(out, "\\u%04x", (unsigned)*p);
        }
    }
    buf_append(out, plain, (size_t)(end - plain));
    buf_append_char(out, '"');
}

/* Prints without printf: kube2sky writes thousands of records for one Service. */
static void record_json_put_number(const char *name, uint32_t value, struct buf *out)
{
    char digits[sizeof("4294967295")];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    buf_append_str(out, name);
    buf_append(out, digits + at, sizeof(digits) - at);
}

void record_to_json(const struct record *record, struct buf *out)
{
    buf_append_str(out, "{\"host\":");
    record_json_put_string(record->host, out);
    if (record->port) {
        record_json_put_number(",\"port\":", record->port, out);
    }
    record_json_put_number(",\"priority\":", record->priority, out);
    record_json_put_number(",\"weight\":", record->weight, out);
    record_json_put_number(",\"ttl\":", record->ttl_s, out);
    record_json_put_number(",\"targetstrip\":", record->targetstrip, out);
    buf_append_char(out, '}');
}

const char *record_label(struct slice value, char out[9])
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < value.len; i++) {
        hash = (hash ^ (uint8_t)value.ptr[i]) * 16777619u;
    }
    unsigned shift = 28; /* of the first digit; leading zeros are left out */
    while (shift && !(hash >> shift)) {
        shift -= 4;
    }
    char *end = out;
    for (unsigned i = 0; i <= shift; i += 4) {
        *end++ = "0123456789abcdef"[hash >> (shift - i) & 15];
    }
    *end = '\0';
    return out;
}

void record_json_use_xalloc(void)
{
    json_set_alloc_funcs(xmalloc, free);
}
