/* A hash table of things that carry their own key, any bytes: open addressing over pointers. A
 * thing in it costs about 15 bytes, which counts, since there are several tables for every object
 * of the cluster. The things are the caller's. Single-threaded. */
#ifndef COMMON_BASE_KEY_TABLE_H
#define COMMON_BASE_KEY_TABLE_H

#include <stddef.h>

#include "common/base/slice.h"

struct key_table {
    struct slice (*key_of)(const void *thing); /* must not change while it is in the table */
    void **slots;                              /* NULL = free */
    size_t cap;                                /* a power of two, or 0 */
    size_t count;
};

void key_table_init(struct key_table *table, struct slice (*key_of)(const void *thing));
void key_table_fini(struct key_table *table); /* the things stay */

void *key_table_find(const struct key_table *table, struct slice key); /* NULL: not there */

/* In the place of the one with the same key, which it returns; NULL: there was none. */
void *key_table_put(struct key_table *table, void *thing);

/* NULL: there was none. */
void *key_table_take(struct key_table *table, struct slice key);

/* The first thing at or behind *at, NULL at the end; begin with 0. *at is its own place, so go on
 * from *at + 1; or from *at when it was taken out meanwhile. A loop that takes some out may meet
 * others twice; it misses none. */
void *key_table_next(const struct key_table *table, size_t *at);

#endif
