#include "common/base/key_table.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"

enum { CAP_MIN = 16 };

/* Marks a free slot in place of a hash. */
enum { FREE = 0 };

void key_table_init(struct key_table *table, struct slice (*key_of)(const void *thing))
{
    seeded_hash_init();
    *table = (struct key_table){.key_of = key_of};
}

static struct slice key_table_first_member(const void *thing)
{
    return *(const struct slice *)thing;
}

void key_table_init_keyed(struct key_table *table)
{
    key_table_init(table, key_table_first_member);
}

void key_table_fini(struct key_table *table)
{
    free(table->slots);
    free(table->hashes);
    *table = (struct key_table){.key_of = table->key_of};
}

void key_table_fini_things(struct key_table *table)
{
    void *thing;
    for (size_t at = 0; (thing = key_table_next(table, &at)); at++) {
        free(thing);
    }
    key_table_fini(table);
}

/* Returns the key's hash, which is never FREE. */
static uint32_t key_table_hash_of(struct slice key)
{
    uint32_t hash = seeded_hash(key);
    return hash == FREE ? 1 : hash;
}

static size_t key_table_home_of(const struct key_table *table, uint32_t hash)
{
    return hash & (table->cap - 1);
}

static size_t key_table_after(const struct key_table *table, size_t at)
{
    return (at + 1) & (table->cap - 1);
}

/* Returns the key's slot, or the free one where it would go. One exists: the table is never
 * full. */
static size_t key_table_seek(const struct key_table *table, struct slice key, uint32_t hash)
{
    size_t at = key_table_home_of(table, hash);
    while (table->hashes[at] != FREE &&
           (table->hashes[at] != hash || !slice_equal(table->key_of(table->slots[at]), key))) {
        at = key_table_after(table, at);
    }
    return at;
}

void *key_table_find(const struct key_table *table, struct slice key)
{
    return table->cap ? table->slots[key_table_seek(table, key, key_table_hash_of(key))] : NULL;
}

static void key_table_resize(struct key_table *table, size_t cap)
{
    struct key_table old = *table;
    table->cap = cap;
    table->slots = xcalloc(cap, sizeof(*table->slots));
    table->hashes = xcalloc(cap, sizeof(*table->hashes));
    for (size_t i = 0; i < old.cap; i++) {
        if (old.hashes[i] != FREE) { /* all keys differ */
            size_t at = key_table_home_of(table, old.hashes[i]);
            while (table->hashes[at] != FREE) {
                at = key_table_after(table, at);
            }
            table->slots[at] = old.slots[i];
            table->hashes[at] = old.hashes[i];
        }
    }
    free(old.slots);
    free(old.hashes);
}

void *key_table_put(struct key_table *table, void *thing)
{
    if ((table->count + 1) * 8 > table->cap * 7) { /* long searches stay within few cache lines */
        key_table_resize(table, table->cap ? table->cap * 2 : CAP_MIN);
    }
    struct slice key = table->key_of(thing);
    uint32_t hash = key_table_hash_of(key);
    size_t at = key_table_seek(table, key, hash);
    void *previous = table->slots[at];
    table->slots[at] = thing;
    table->hashes[at] = hash;
    table->count += previous == NULL;
    return previous;
}

void *key_table_add(struct key_table *table, struct slice key, size_t size)
{
    char *thing = xcalloc(1, size + key.len + 1);
    if (key.len) {
        memcpy(thing + size, key.ptr, key.len);
    }
    *(struct slice *)(void *)thing = slice_of(thing + size, key.len);
    void *previous = key_table_put(table, thing);
    assert(!previous);
    (void)previous;
    return thing;
}

void *key_table_get(struct key_table *table, struct slice key, size_t size)
{
    void *thing = key_table_find(table, key);
    return thing ? thing : key_table_add(table, key, size);
}

/* Moves the things after a freed slot up, as far as their home slots allow, so that no search stops
 * short of them. */
static void close_gap(struct key_table *table, size_t gap)
{
    size_t mask = table->cap - 1;
    for (size_t at = key_table_after(table, gap); table->hashes[at] != FREE;
         at = key_table_after(table, at)) {
        size_t home = key_table_home_of(table, table->hashes[at]);
        bool may_move = ((at - home) & mask) >= ((at - gap) & mask);
        if (may_move) {
            table->slots[gap] = table->slots[at];
            table->hashes[gap] = table->hashes[at];
            gap = at;
        }
    }
    table->slots[gap] = NULL;
    table->hashes[gap] = FREE;
}

void *key_table_take(struct key_table *table, struct slice key)
{
    if (table->cap == 0) {
        return NULL;
    }
    size_t at = key_table_seek(table, key, key_table_hash_of(key));
    void *thing = table->slots[at];
    if (thing) {
        close_gap(table, at);
        table->count--;
    }
    return thing;
}

void *key_table_next(const struct key_table *table, size_t *at)
{
    while (*at < table->cap && !table->slots[*at]) {
        (*at)++;
    }
    return *at < table->cap ? table->slots[*at] : NULL;
}
