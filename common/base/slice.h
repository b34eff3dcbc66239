/* A borrowed view of bytes. Pure; any thread. */
#ifndef COMMON_BASE_SLICE_H
#define COMMON_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

struct slice {
    const char *ptr; /* not NUL-terminated; may be NULL when len is 0 */
    size_t len;
};

static inline struct slice slice_of(const void *ptr, size_t len)
{
    return (struct slice){ptr, len};
}

static inline struct slice slice_str(const char *s)
{
    return (struct slice){s, strlen(s)};
}

/* Returns what follows the first n bytes. */
static inline struct slice slice_skip(struct slice s, size_t n)
{
    return n > 0 ? slice_of(s.ptr + n, s.len - n) : s; /* ptr may be NULL */
}

/* Returns the text without blanks and tabs around it. */
static inline struct slice slice_trim(struct slice s)
{
    while (s.len > 0 && (*s.ptr == ' ' || *s.ptr == '\t')) {
        s = slice_skip(s, 1);
    }
    while (s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t')) {
        s.len--;
    }
    return s;
}

static inline bool slice_equal(struct slice a, struct slice b)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): NULL only with len 0 */
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* Compares without regard to the case of ASCII letters. */
static inline bool slice_equal_nocase(struct slice a, struct slice b)
{
    return a.len == b.len && (a.len == 0 || strncasecmp(a.ptr, b.ptr, a.len) == 0);
}

/* Returns whether one of the texts is equal. */
static inline bool slice_is_among(struct slice s, const char *const *texts, size_t count)
{
    bool is = false;
    for (size_t i = 0; i < count && !is; i++) {
        is = slice_equal(slice_str(texts[i]), s);
    }
    return is;
}

static inline bool slice_has_prefix(struct slice s, struct slice prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}

static inline bool slice_has_suffix(struct slice s, struct slice suffix)
{
    return s.len >= suffix.len &&
           (suffix.len == 0 || memcmp(s.ptr + s.len - suffix.len, suffix.ptr, suffix.len) == 0);
}

/* Cuts off and returns the text before the separator, which goes, too; all of it if there is none.
 */
static inline struct slice slice_cut(struct slice *s, char separator)
{
    size_t len = 0;
    while (len < s->len && s->ptr[len] != separator) {
        len++;
    }
    const struct slice part = slice_of(s->ptr, len);
    const size_t used = len + (len < s->len);
    *s = slice_skip(*s, used);
    return part;
}

/* Cuts off and returns the text behind the last separator likewise. */
static inline struct slice slice_cut_last(struct slice *s, char separator)
{
    size_t at = s->len;
    while (at > 0 && s->ptr[at - 1] != separator) {
        at--;
    }
    const struct slice part = slice_skip(*s, at);
    s->len = at > 0 ? at - 1 : 0;
    return part;
}

static inline uint8_t ascii_lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c | 0x20) : c;
}

/* Copies a text in lower case, perhaps onto itself. */
static inline void ascii_lower_copy(char *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        out[i] = (char)ascii_lower((uint8_t)text[i]);
    }
}

/* Returns whether it has capital letters of ASCII. */
static inline bool slice_has_capitals(struct slice s)
{
    bool has = false;
    for (size_t i = 0; i < s.len && !has; i++) {
        has = s.ptr[i] >= 'A' && s.ptr[i] <= 'Z';
    }
    return has;
}

/* Compares in byte order, as etcd sorts keys: a prefix sorts before longer keys. */
static inline int slice_compare(struct slice a, struct slice b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int d = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return d ? d : (a.len > b.len) - (a.len < b.len);
}

#endif
