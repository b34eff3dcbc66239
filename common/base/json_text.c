#include "common/base/json_text.h"

#include <inttypes.h>

#include "common/base/utc_time.h"

/* Returns the length of the UTF-8 character that begins here (RFC 3629); 0: invalid. */
static size_t character_len(const uint8_t *p, size_t left)
{
    static const struct {
        uint8_t first, last;            /* of the first byte */
        uint8_t second_min, second_max; /* of the second one */
        uint8_t len;
    } forms[] = {
        {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (p[0] < forms[i].first || p[0] > forms[i].last) {
            continue;
        }
        size_t len = forms[i].len;
        bool ok = len <= left &&
                  (len == 1 || (p[1] >= forms[i].second_min && p[1] <= forms[i].second_max));
        for (size_t k = 2; ok && k < len; k++) {
            ok = (p[k] & 0xc0) == 0x80;
        }
        return ok ? len : 0;
    }
    return 0;
}

static void append_json_character(struct buf *out, const uint8_t *p, size_t len)
{
    if (len == 0) {
        buf_append_str(out, "\xef\xbf\xbd");
    } else if (*p == '"' || *p == '\\') {
        buf_append_char(out, '\\');
        buf_append_char(out, (char)*p);
    } else if (*p < ' ' || *p == 0x7f) {
        buf_printf(out, "\\u%04x", *p);
    } else {
        buf_append(out, p, len);
    }
}

void json_text_string(struct buf *out, struct slice bytes)
{
    const uint8_t *p = (const uint8_t *)bytes.ptr;
    size_t left = bytes.len;
    buf_append_char(out, '"');
    while (left > 0) {
        size_t len = character_len(p, left);
        append_json_character(out, p, len);
        size_t taken = len ? len : 1;
        p += taken;
        left -= taken;
    }
    buf_append_char(out, '"');
}

static void append_member(struct buf *out, const char *name)
{
    char last = out->len > 0 ? (char)out->data[out->len - 1] : '{';
    buf_append_str(out, last == '{' || last == '[' || last == '\n' || last == ' ' ? "" : ",");
    if (name) {
        buf_printf(out, "\"%s\":", name);
    }
}

void json_text_slice_field(struct buf *out, const char *name, struct slice value)
{
    append_member(out, name);
    json_text_string(out, value);
}

void json_text_string_field(struct buf *out, const char *name, const char *value)
{
    json_text_slice_field(out, name, slice_str(value));
}

void json_text_number_field(struct buf *out, const char *name, uint64_t value)
{
    append_member(out, name);
    buf_printf(out, "%" PRIu64, value);
}

void json_text_integer_field(struct buf *out, const char *name, int64_t value)
{
    append_member(out, name);
    buf_printf(out, "%" PRId64, value);
}

void json_text_flag_field(struct buf *out, const char *name, bool value)
{
    append_member(out, name);
    buf_append_str(out, value ? "true" : "false");
}

void json_text_open(struct buf *out, const char *name, char first)
{
    append_member(out, name);
    buf_append_char(out, first);
}

void json_text_open_row(struct buf *out, const char *name, char first)
{
    append_member(out, NULL);
    buf_append_char(out, '\n');
    json_text_open(out, name, first);
}

void json_text_time_fields(struct buf *out, int64_t time_ms)
{
    json_text_open(out, "time", '"');
    utc_time_append_ms(time_ms, out);
    buf_append_char(out, '"');
    json_text_integer_field(out, "time_ms", time_ms);
}
