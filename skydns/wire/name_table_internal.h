/* Remembers the names written to a message so far, which later ones point to (RFC 1035 4.1.4). Case
 * counts: names keep the capitals they are stored with.
 *
 * A client chooses some of the names, and an upstream others. So the hash is seeded, and a search
 * looks at NAME_TABLE_PLACES slots at most. One per encoder, for one message at a time; its thread
 * only. */
#ifndef SKYDNS_WIRE_NAME_TABLE_INTERNAL_H
#define SKYDNS_WIRE_NAME_TABLE_INTERNAL_H

#include <stdint.h>

#include "common/base/cursor.h"
#include "common/base/slice.h"

/* Bounds the names that are remembered. A message has room for more only if they are tiny, and then
 * there is little to save. Half of the slots stay free, so that few names find theirs taken. */
enum { NAME_TABLE_NAMES_MAX = 2048, NAME_TABLE_PLACES = 4 };
enum { NAME_TABLE_GROUPS = 2 * NAME_TABLE_NAMES_MAX / NAME_TABLE_PLACES };

struct name_place {
    uint32_t hash;
    uint16_t message; /* the message that it belongs to; free unless the current one */
    uint16_t offset;
};

struct name_table {
    uint16_t message;
    unsigned names; /* remembered */
    struct name_place groups[NAME_TABLE_GROUPS][NAME_TABLE_PLACES];
};

/* Forgets all names. The table is zeroed at first. */
void name_table_begin(struct name_table *table);

/* Remembers the name, which is written uncompressed at this offset. */
void name_table_learn(struct name_table *table, struct slice name, size_t offset);

/* Appends a name. Compressed: the labels that no earlier name ends with, and a pointer to the
 * earlier one. Whole: all labels. Later names may point to either. The message is the writer's, and
 * this function has written all its names. */
enum name_form { NAME_COMPRESSED, NAME_WHOLE };
void name_table_write(struct name_table *table, struct slice name, enum name_form form,
                      struct writer *w);

#endif
