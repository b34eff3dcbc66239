/* A hash table of things that contain their own key (any bytes), by open addressing over hashes.
 *
 * Hashes are compared before the memory of a thing is touched: in a large table that is what a
 * search costs. An entry takes about 19 bytes, which matters, since every object of the cluster is
 * in several tables. The caller owns the things. Single-threaded. */
#ifndef COMMON_BASE_KEY_TABLE_H
#define COMMON_BASE_KEY_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"

struct key_table {
    struct slice (*key_of)(const void *thing); /* the key must not change while in the table */
    void **slots;                              /* NULL = free */
    uint32_t *hashes;                          /* of their keys; 0 = free */
    size_t cap;                                /* a power of two, or 0 */
    size_t count;
};

void key_table_init(struct key_table *table, struct slice (*key_of)(const void *thing));
void key_table_fini(struct key_table *table); /* frees no things */

/* Does the same for things that begin with a struct slice, their key. */
void key_table_init_keyed(struct key_table *table);

/* Does the same, and frees the things, each one block. */
void key_table_fini_things(struct key_table *table);

void *key_table_find(const struct key_table *table, struct slice key); /* returns NULL if not
                                                                          found */

/* Replaces and returns the one with the same key; NULL: none. */
void *key_table_put(struct key_table *table, void *thing);

/* Puts such a thing that begins with its key, new and zeroed, which the table must not have yet. It
 * is one block: the key's copy follows its `size` bytes, with a NUL behind it. */
void *key_table_add(struct key_table *table, struct slice key, size_t size);

/* Returns the thing with the key, added like that if there is none. */
void *key_table_get(struct key_table *table, struct slice key, size_t size);

/* Removes and returns the one with this key; NULL: none. */
void *key_table_take(struct key_table *table, struct slice key);

/* Returns the first thing at or after *at, NULL at the end; start at 0. Sets *at to its position:
 * continue at *at + 1, or at *at if it was removed. A loop that removes things may see others twice
 * but misses none. */
void *key_table_next(const struct key_table *table, size_t *at);

#endif
