/* DNS names in uncompressed wire form (RFC 1035 section 3.1) and their text. Pure; any thread;
 * nothing allocates. Comparison ignores ASCII case (RFC 4343); names keep their case. */
#ifndef COMMON_DNS_DNAME_H
#define COMMON_DNS_DNAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/cursor.h"
#include "common/base/slice.h"

enum {
    DNAME_MAX = 255, /* wire bytes with the root label, RFC 1035 2.3.4 */
    DNAME_LABEL_MAX = 63,
    DNAME_LABELS_MAX = 127, /* 127 labels of one byte and the root: 255 bytes */
    DNAME_TEXT_MAX = 1009,  /* every byte as \DDD, dots, NUL */
};

struct dname {
    uint8_t len; /* wire bytes including the root label; 0 = no name */
    uint8_t wire[DNAME_MAX];
};

/* Holds the offset of each label in a name, root excluded: offsets[0] is the leftmost. */
struct dname_labels {
    uint8_t count;
    uint8_t offsets[DNAME_LABELS_MAX];
};

/* Parses master-file text, `\.` and `\DDD` escapes, with or without the trailing dot. "." is the
 * root. Returns false for an empty label, a label over 63 bytes, a name over 255, a bad escape. */
bool dname_from_text(struct slice text, struct dname *ret_name) MUST_CHECK;

/* Writes text with a trailing dot, escaped where necessary. Returns out. */
const char *dname_to_text(const struct dname *name, char out[DNAME_TEXT_MAX]);

/* Appends the text as a field of JSON (json_text.h). */
struct buf;
void dname_json_field(struct buf *out, const char *field, const struct dname *name);

/* Reads a possibly compressed name from a reader over a whole message (RFC 1035 4.1.4). Pointers
 * must point backwards, behind the header, to a name that ends before the part with the pointer
 * begins. So there are no loops, and a name depends only on earlier bytes. Label types other than
 * 00 and 11 are rejected. On success the reader stands after the name; on failure returns false
 * with reader->failed set. */
bool dname_read(struct reader *reader, struct dname *ret_name) MUST_CHECK;

/* Skips a name by its own bytes and follows no pointer. So thousands of names that share a long
 * chain cost no more than their bytes. Returns false, and the reader has failed, if the name does
 * not end, or has a label of another kind than RFC 1035's. */
bool dname_skip(struct reader *reader) MUST_CHECK;

/* Reads a name that follows its length (reader_sized). Returns false, and the reader has failed, if
 * these bytes are not one whole name. */
bool dname_read_sized(struct reader *reader, struct dname *ret_name) MUST_CHECK;

void dname_labels(const struct dname *name, struct dname_labels *ret_labels);

/* Folds ASCII letters to lower case, in place. */
void dname_lower(struct dname *name);

/* Returns the name with this wire form, at most DNAME_MAX bytes, in lower case. */
static inline struct dname dname_lower_of(struct slice wire)
{
    struct dname name = {.len = (uint8_t)wire.len};
    memcpy(name.wire, wire.ptr, wire.len);
    dname_lower(&name);
    return name;
}

bool dname_equal(const struct dname *a, const struct dname *b);

/* Returns whether name is zone itself or below it, at a label boundary. */
bool dname_is_within(const struct dname *name, const struct dname *zone);

bool dname_is_within_any(const struct dname *name, const struct dname *zones, size_t count);

/* Returns whether both lists have the same names in the same order. */
bool dname_lists_equal(const struct dname *a, size_t a_count, const struct dname *b,
                       size_t b_count);

/* Accepts a label of a host name (RFC 1123 2.1), as Kubernetes means it: letters, digits and inner
 * hyphens, 1-63 bytes. */
bool dname_is_host_label(struct slice text);

/* Accepts such labels with dots between them, of any length in all. */
bool dname_is_host(struct slice text);

/* Returns a view of the label at this offset, without its length byte. */
static inline struct slice dname_label(const struct dname *name, uint8_t offset)
{
    return slice_of(name->wire + offset + 1, name->wire[offset]);
}

/* Prepends a label. Returns false, with name unchanged, if the label or the name would be too
 * long. */
bool dname_prepend(struct dname *name, struct slice label) MUST_CHECK;

/* Removes n labels from the left; the root remains. */
void dname_strip(struct dname *name, unsigned n);

/* Returns the number of labels, root excluded. */
unsigned dname_label_count(const struct dname *name);

/* Returns the high bit of each byte that is a capital letter; `>> 2` gives the bit that lower case
 * adds. */
static inline uint64_t ascii_capitals(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101;
    uint64_t low = word & 0x7f * ones;
    uint64_t from_a = low + (0x80 - 'A') * ones, behind_z = low + (0x7f - 'Z') * ones;
    return ~word & (from_a ^ behind_z) & 0x80 * ones;
}

#endif
