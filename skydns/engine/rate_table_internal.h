/* Maps keys to the one word that a rate needs for each, in a table that threads share without
 * locks. Its size is fixed. A seeded hash of the key, the caller's, finds it in sets of four, each
 * a cache line; nobody can choose the others in its set. A full set evicts the entry with the
 * smallest word, which the caller arranges to be the one that is missed least. No page of the table
 * is touched until a key needs it. When an entry changes hands, another thread may at that moment
 * change the word of the new key. */
#ifndef SKYDNS_ENGINE_RATE_TABLE_INTERNAL_H
#define SKYDNS_ENGINE_RATE_TABLE_INTERNAL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct rate_entry {
    _Atomic uint64_t key; /* 0: free */
    _Atomic uint64_t word;
};

struct rate_table {
    void *memory;
    struct rate_set *sets; /* in `memory`, at the start of a cache line */
    uint32_t mask;         /* of their number */
};

/* Makes room for `entries`, a power of two of at least four. */
void rate_table_init(struct rate_table *table, size_t entries);
void rate_table_fini(struct rate_table *table);

/* Begins to load the entry of a key with this hash. Any thread. */
void rate_table_prepare(const struct rate_table *table, uint32_t hash);

/* Returns the word of a key; 0: it has none. Any thread. */
uint64_t rate_table_word(const struct rate_table *table, uint32_t hash, uint64_t key);

/* Returns the entry of a key, which is not 0, or another that becomes its own: with a word of
 * `idle` at most. Replaced is the one with the smallest word, counted from `least` up, past the
 * largest one. NULL: too many other keys want one. Any thread. */
struct rate_entry *rate_table_find(const struct rate_table *table, uint32_t hash, uint64_t key,
                                   uint64_t idle, uint64_t least);

#endif
