#include "common/dns/record_key.h"

#include <string.h>

static void append_lower(struct slice label, struct buf *out)
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
        append_lower(slice_of(name.ptr + label, name.len - label), out);
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

/* Filled from the end: the key's first label is the name's last. */
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
