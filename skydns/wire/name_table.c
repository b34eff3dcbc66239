#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/seeded_hash.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "skydns/wire/name_table_internal.h"

enum { POINTER = 0xc0 };

static uint8_t byte_at(struct slice name, size_t at)
{
    return (uint8_t)name.ptr[at];
}

void name_table_begin(struct name_table *table)
{
    table->names = 0;
    if (++table->message == 0) { /* after 65,535 messages, old slots would look new */
        memset(table->groups, 0, sizeof(table->groups));
        table->message = 1;
    }
}

/* A name cut into its suffixes, `www.example.com.`, `example.com.`, `com.`, each with a hash. */
struct name_ends {
    unsigned count;
    uint8_t at[DNAME_LABELS_MAX];
    uint32_t hash[DNAME_LABELS_MAX];
};

static void cut_ends(struct slice name, struct name_ends *ends)
{
    const uint32_t odd = 0x9e3779b1;
    uint32_t hash = 0;
    ends->count = 0;
    for (size_t at = 0; byte_at(name, at) != 0; at += byte_at(name, at) + 1u) {
        ends->at[ends->count++] = (uint8_t)at;
    }
    for (unsigned i = ends->count; i-- > 0;) {
        const char *label = name.ptr + ends->at[i];
        hash = hash * odd ^ seeded_hash(slice_of(label + 1, (uint8_t)label[0]));
        ends->hash[i] = hash;
    }
}

/* Returns whether the name written at this offset is the rest of `name` from `at` on. It reads only
 * names of this message, so pointers are ours, and point backwards. */
static bool is_written_at(const uint8_t *message, size_t offset, struct slice name, size_t at)
{
    for (;;) {
        while (message[offset] >= POINTER) {
            const size_t target = (size_t)(message[offset] & ~POINTER) << 8 | message[offset + 1];
            assert(target < offset);
            offset = target;
        }
        size_t len = message[offset] + 1u;
        if (len > name.len - at || memcmp(message + offset, name.ptr + at, len) != 0) {
            return false;
        }
        if (len == 1) {
            return true;
        }
        offset += len;
        at += len;
    }
}

static struct name_place *group_of(struct name_table *t, uint32_t hash)
{
    return t->groups[hash % NAME_TABLE_GROUPS];
}

/* Returns the longest suffix of the name already written, as an index into ends; ends->count: none.
 */
static unsigned find_longest(struct name_table *t, const uint8_t *message, struct slice name,
                             const struct name_ends *ends, size_t *ret_offset)
{
    for (unsigned i = 0; i < ends->count; i++) {
        const struct name_place *group = group_of(t, ends->hash[i]);
        for (unsigned k = 0; k < NAME_TABLE_PLACES && group[k].message == t->message; k++) {
            if (group[k].hash == ends->hash[i] &&
                is_written_at(message, group[k].offset, name, ends->at[i])) {
                *ret_offset = group[k].offset;
                return i;
            }
        }
    }
    return ends->count;
}

/* Remembers the first `count` suffixes of a name written at the offset; when a group is full, the
 * first ones. */
static void learn_ends(struct name_table *t, const struct name_ends *ends, unsigned count,
                       size_t offset)
{
    for (unsigned i = 0; i < count; i++) {
        struct name_place *group = group_of(t, ends->hash[i]);
        unsigned k = 0;
        while (k < NAME_TABLE_PLACES && group[k].message == t->message) {
            k++;
        }
        if (k < NAME_TABLE_PLACES && offset + ends->at[i] <= DNS_POINTER_MAX &&
            t->names < NAME_TABLE_NAMES_MAX) {
            group[k] =
                (struct name_place){ends->hash[i], t->message, (uint16_t)(offset + ends->at[i])};
            t->names++;
        }
    }
}

void name_table_learn(struct name_table *table, struct slice name, size_t offset)
{
    struct name_ends ends;
    cut_ends(name, &ends);
    learn_ends(table, &ends, ends.count, offset);
}

void name_table_write(struct name_table *table, struct slice name, enum name_form form,
                      struct writer *w)
{
    struct name_ends ends;
    size_t start = w->pos, target = 0;
    assert(!w->failed || start <= w->cap);
    cut_ends(name, &ends);
    unsigned known = find_longest(table, w->data, name, &ends, &target);
    assert(known == ends.count || target < start);
    if (form == NAME_WHOLE || known == ends.count) {
        writer_bytes(w, name.ptr, name.len);
    } else {
        writer_bytes(w, name.ptr, ends.at[known]);
        writer_u16(w, (uint16_t)(POINTER << 8 | target));
    }
    if (!w->failed) { /* only a completely written name may be pointed at */
        learn_ends(table, &ends, known, start);
    }
}
