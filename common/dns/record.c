#include "common/dns/record.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

struct record record_copy(const struct record *record)
{
    struct record copy = *record;
    size_t bytes = 0;
    for (unsigned i = 0; i < RECORD_STRINGS; i++) {
        bytes += record->strings[i].len;
    }
    char *at = copy.owned = xmalloc(bytes + 1);
    for (unsigned i = 0; i < RECORD_STRINGS; i++) {
        const struct slice string = record->strings[i];
        if (string.len > 0) {
            memcpy(at, string.ptr, string.len);
        }
        copy.strings[i] = slice_of(at, string.len);
        at += string.len;
    }
    return copy;
}

void record_fini(struct record *record)
{
    free(record->owned);
    *record = (struct record){.ttl_s = 0};
}

static bool record_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns the byte that the escape at `at`, behind its backslash, stands for; moves *at behind
 * it. */
static uint8_t take_escaped(struct slice text, size_t *at)
{
    const char *p = text.ptr + *at;
    if (text.len - *at < 3 || !record_is_digit(p[0]) || !record_is_digit(p[1]) ||
        !record_is_digit(p[2])) {
        *at += 1;
        return (uint8_t)p[0];
    }
    *at += 3;
    return (uint8_t)((p[0] - '0') * 100 + (p[1] - '0') * 10 + (p[2] - '0'));
}

size_t txt_unescape(struct slice text, uint8_t *out)
{
    size_t len = 0;
    for (size_t at = 0; at < text.len;) {
        uint8_t c = (uint8_t)text.ptr[at++];
        if (c == '\\') {
            if (at == text.len) {
                break;
            }
            c = take_escaped(text, &at);
        }
        if (out) {
            out[len] = c;
        }
        len++;
    }
    return len;
}

static void record_append_lower(struct slice label, struct buf *out)
{
    uint8_t *room = buf_reserve(out, label.len);
    for (size_t i = 0; room && i < label.len; i++) {
        room[i] = ascii_lower((uint8_t)label.ptr[i]);
    }
    out->len += room ? label.len : 0;
}

void record_key_from_name(struct slice prefix, struct slice name, struct buf *out)
{
    if (name.len && name.ptr[name.len - 1] == '.') {
        name.len--;
    }
    buf_append_slice(out, prefix);
    while (name.len) {
        const char *dot = memrchr(name.ptr, '.', name.len);
        size_t rest = dot ? (size_t)(dot - name.ptr) : 0;
        size_t label = dot ? rest + 1 : 0;
        record_append_lower(slice_of(name.ptr + label, name.len - label), out);
        if (dot) {
            buf_append_char(out, '/');
        }
        name.len = rest;
    }
}

void record_key_of(struct slice prefix, const struct dname *name, struct buf *out)
{
    struct dname_labels labels;
    dname_labels(name, &labels);
    buf_append_slice(out, prefix);
    for (unsigned i = labels.count; i > 0; i--) {
        buf_append_slice(out, dname_label(name, labels.offsets[i - 1]));
        if (i > 1) {
            buf_append_char(out, '/');
        }
    }
}

/* Fills the name from its end: the key's first label is the name's last. */
bool record_key_to_name(struct slice prefix, struct slice key, struct dname *ret_name)
{
    if (!slice_has_prefix(key, prefix)) {
        return false;
    }
    const char *p = key.ptr + prefix.len, *end = key.ptr + key.len;
    size_t size = (size_t)(end - p) + 2; /* a length byte per slash, one more, and the root */
    if (size > DNAME_MAX) {
        return false;
    }
    struct dname name = {.len = (uint8_t)size};
    size_t at = size - 1;
    while (at > 0) {
        const char *slash = memchr(p, '/', (size_t)(end - p));
        size_t n = (size_t)((slash ? slash : end) - p);
        if (n == 0 || n > DNAME_LABEL_MAX) {
            return false;
        }
        at -= n + 1;
        name.wire[at] = (uint8_t)n;
        memcpy(name.wire + at + 1, p, n);
        p += n + 1;
    }
    *ret_name = name;
    return true;
}
