#include "common/dns/dname.h"

#include <stdio.h>
#include <string.h>

#include "common/base/json_text.h"

static int decimal_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : -1;
}

/* Decodes one byte of text with its escape. Returns the characters used, 0 for a bad escape. */
static size_t dname_unescape(struct slice text, size_t pos, uint8_t *ret_byte)
{
    if (text.ptr[pos] != '\\') {
        *ret_byte = (uint8_t)text.ptr[pos];
        return 1;
    }
    if (pos + 1 >= text.len) {
        return 0;
    }
    int d1 = decimal_digit(text.ptr[pos + 1]);
    if (d1 < 0) {
        *ret_byte = (uint8_t)text.ptr[pos + 1];
        return 2;
    }
    if (pos + 3 >= text.len) {
        return 0;
    }
    int d2 = decimal_digit(text.ptr[pos + 2]), d3 = decimal_digit(text.ptr[pos + 3]);
    int value = d1 * 100 + d2 * 10 + d3;
    if (d2 < 0 || d3 < 0 || value > 255) {
        return 0;
    }
    *ret_byte = (uint8_t)value;
    return 4;
}

bool dname_from_text(struct slice text, struct dname *ret_name)
{
    struct dname name = {0};
    size_t used = 0, label_at = 0; /* wire bytes used; offset of the open label's length */
    bool open = false;
    if (text.len == 1 && text.ptr[0] == '.') {
        text.len = 0;
    } else if (text.len == 0) {
        return false;
    }
    for (size_t pos = 0; pos < text.len;) {
        if (text.ptr[pos] == '.') {
            if (!open) {
                return false;
            }
            open = false;
            pos++;
            continue;
        }
        if (!open) {
            label_at = used++;
            open = true;
        }
        uint8_t byte;
        size_t n = dname_unescape(text, pos, &byte);
        if (n == 0 || used >= DNAME_MAX - 1 || used - label_at > DNAME_LABEL_MAX) {
            return false;
        }
        name.wire[used++] = byte;
        name.wire[label_at] = (uint8_t)(used - label_at - 1);
        pos += n;
    }
    name.wire[used++] = 0;
    name.len = (uint8_t)used;
    *ret_name = name;
    return true;
}

const char *dname_to_text(const struct dname *name, char out[DNAME_TEXT_MAX])
{
    size_t n = 0;
    for (unsigned at = 0; at + 1 < name->len; at += name->wire[at] + 1u) {
        for (unsigned i = 1; i <= name->wire[at]; i++) {
            uint8_t c = name->wire[at + i];
            if (c <= ' ' || c >= 0x7f) {
                n += (size_t)snprintf(out + n, DNAME_TEXT_MAX - n, "\\%03u", c);
            } else {
                if (c == '.' || c == '\\' || c == '"' || c == '(' || c == ')' || c == ';' ||
                    c == '@' || c == '$') {
                    out[n++] = '\\';
                }
                out[n++] = (char)c;
            }
        }
        out[n++] = '.';
    }
    if (n == 0) {
        out[n++] = '.';
    }
    out[n] = '\0';
    return out;
}

void dname_json_field(struct buf *out, const char *field, const struct dname *name)
{
    char text[DNAME_TEXT_MAX];
    json_text_string_field(out, field, dname_to_text(name, text));
}

/* Equals a message's header (RFC 1035 4.1.1), which contains no name. */
enum { HEADER_SIZE = 12 };

bool dname_read(struct reader *reader, struct dname *ret_name)
{
    uint8_t wire[DNAME_MAX];
    size_t pos = reader->pos, lowest = reader->pos, bound = reader->len, end = 0, used = 0;
    /* A label or the root follows each pointer of a name that makes sense: pointers to pointers
     * could cost a message of 64 KiB millions of steps. */
    for (unsigned parts = 0; parts <= 2 * DNAME_LABELS_MAX + 1; parts++) {
        if (reader->failed || pos >= bound) {
            break;
        }
        uint8_t length = reader->data[pos];
        if (length >= 0xc0) {
            if (pos + 1 >= bound) {
                break;
            }
            size_t target = (size_t)(length & 0x3f) << 8 | reader->data[pos + 1];
            if (!end) {
                end = pos + 2;
            }
            if (target >= lowest || target < HEADER_SIZE) { /* always backwards: no loop */
                break;
            }
            bound = lowest; /* the target ends before the part with the pointer begins */
            pos = lowest = target;
            continue;
        }
        if (length > DNAME_LABEL_MAX || pos + 1 + length > bound ||
            used + 1 + length > DNAME_MAX - (length ? 1 : 0)) {
            break;
        }
        memcpy(wire + used, reader->data + pos, 1u + length);
        used += 1u + length;
        pos += 1u + length;
        if (length == 0) {
            ret_name->len = (uint8_t)used;
            memcpy(ret_name->wire, wire, used);
            reader->pos = end ? end : pos;
            return true;
        }
    }
    reader->failed = true;
    return false;
}

bool dname_skip(struct reader *reader)
{
    enum { POINTER = 0xc0 };
    uint8_t length;
    while ((length = reader_u8(reader)) > 0 && length <= DNAME_LABEL_MAX) {
        (void)reader_take(reader, length); /* the reader remembers the failure */
    }
    if (length >= POINTER) {
        (void)reader_u8(reader);
    } else if (length > 0) {
        reader->failed = true;
    }
    return !reader->failed;
}

bool dname_read_sized(struct reader *reader, struct dname *ret_name)
{
    struct slice wire = reader_sized(reader);
    struct reader alone = reader_of(wire.ptr, wire.len);
    reader->failed = reader->failed || !dname_read(&alone, ret_name) || ret_name->len != wire.len;
    return !reader->failed;
}

void dname_labels(const struct dname *name, struct dname_labels *ret_labels)
{
    ret_labels->count = 0;
    for (unsigned at = 0; at + 1 < name->len; at += name->wire[at] + 1u) {
        ret_labels->offsets[ret_labels->count++] = (uint8_t)at;
    }
}

/* Folds every byte, which folds only labels: length bytes are below 64 and therefore never
 * letters. */
static uint64_t lower_word(uint64_t word)
{
    return word | ascii_capitals(word) >> 2;
}

static uint64_t dname_load_word(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof(word));
    return word;
}

/* Lowers every byte: length bytes are never letters. */
void dname_lower(struct dname *name)
{
    size_t i = 0;
    for (; i + sizeof(uint64_t) <= name->len; i += sizeof(uint64_t)) {
        uint64_t word = lower_word(dname_load_word(name->wire + i));
        memcpy(name->wire + i, &word, sizeof(word));
    }
    for (; i < name->len; i++) {
        name->wire[i] = ascii_lower(name->wire[i]);
    }
}

static bool bytes_equal_nocase(const uint8_t *a, const uint8_t *b, size_t len)
{
    size_t i = 0;
    for (; i + sizeof(uint64_t) <= len; i += sizeof(uint64_t)) {
        if (lower_word(dname_load_word(a + i)) != lower_word(dname_load_word(b + i))) {
            return false;
        }
    }
    if (i < len && len > sizeof(uint64_t)) { /* the rest: some bytes again */
        i = len - sizeof(uint64_t);
        return lower_word(dname_load_word(a + i)) == lower_word(dname_load_word(b + i));
    }
    for (; i < len; i++) {
        if (ascii_lower(a[i]) != ascii_lower(b[i])) {
            return false;
        }
    }
    return true;
}

bool dname_equal(const struct dname *a, const struct dname *b)
{
    return a->len == b->len && bytes_equal_nocase(a->wire, b->wire, a->len);
}

bool dname_is_within(const struct dname *name, const struct dname *zone)
{
    if (zone->len == 0 || zone->len > name->len) {
        return false;
    }
    unsigned boundary = name->len - zone->len, at = 0;
    while (at < boundary) {
        at += name->wire[at] + 1u;
    }
    return at == boundary && bytes_equal_nocase(name->wire + at, zone->wire, zone->len);
}

bool dname_is_within_any(const struct dname *name, const struct dname *zones, size_t count)
{
    bool is_within = false;
    for (size_t i = 0; i < count && !is_within; i++) {
        is_within = dname_is_within(name, &zones[i]);
    }
    return is_within;
}

bool dname_lists_equal(const struct dname *a, size_t a_count, const struct dname *b, size_t b_count)
{
    bool are_equal = a_count == b_count;
    for (size_t i = 0; i < a_count && are_equal; i++) {
        are_equal = dname_equal(&a[i], &b[i]);
    }
    return are_equal;
}

bool dname_prepend(struct dname *name, struct slice label)
{
    if (label.len == 0 || label.len > DNAME_LABEL_MAX || name->len == 0 ||
        name->len + label.len + 1 > DNAME_MAX) {
        return false;
    }
    memmove(name->wire + label.len + 1, name->wire, name->len);
    name->wire[0] = (uint8_t)label.len;
    memcpy(name->wire + 1, label.ptr, label.len);
    name->len = (uint8_t)(name->len + label.len + 1);
    return true;
}

void dname_strip(struct dname *name, unsigned n)
{
    unsigned at = 0;
    while (n-- > 0 && at + 1 < name->len) {
        at += name->wire[at] + 1u;
    }
    memmove(name->wire, name->wire + at, name->len - at);
    name->len = (uint8_t)(name->len - at);
}

unsigned dname_label_count(const struct dname *name)
{
    unsigned count = 0;
    for (unsigned at = 0; at + 1 < name->len; at += name->wire[at] + 1u) {
        count++;
    }
    return count;
}

bool dname_is_host_label(struct slice text)
{
    if (text.len == 0 || text.len > DNAME_LABEL_MAX || text.ptr[0] == '-' ||
        text.ptr[text.len - 1] == '-') {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = ascii_lower((uint8_t)text.ptr[i]);
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-') {
            return false;
        }
    }
    return true;
}

bool dname_is_host(struct slice text)
{
    bool is_host = text.len > 0 && text.ptr[text.len - 1] != '.';
    while (is_host && text.len > 0) {
        is_host = dname_is_host_label(slice_cut(&text, '.'));
    }
    return is_host;
}
