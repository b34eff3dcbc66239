#include "skydns/engine/rate_table_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/xalloc.h"

enum { WAYS = 4, LINE = 64 };

/* Races in one set after which a key gets no entry. */
enum { TRIES = 8 };

struct rate_set {
    struct rate_entry ways[WAYS];
};
_Static_assert(sizeof(struct rate_set) == LINE, "one cache miss for each query");

/* Makes a table. calloc leaves such a large block to the kernel, which provides zeroed pages when
 * they are first used. */
void rate_table_init(struct rate_table *table, size_t entries)
{
    const size_t sets = entries / WAYS;
    assert(sets > 0 && (sets & (sets - 1)) == 0); /* the hash is masked */
    table->memory = xcalloc(1, sets * sizeof(struct rate_set) + LINE);
    table->sets = (void *)(((uintptr_t)table->memory + LINE - 1) & ~(uintptr_t)(LINE - 1));
    table->mask = (uint32_t)(sets - 1);
}

void rate_table_fini(struct rate_table *table)
{
    free(table->memory);
}

static struct rate_set *set_of(const struct rate_table *table, uint32_t hash)
{
    return &table->sets[hash & table->mask];
}

void rate_table_prepare(const struct rate_table *table, uint32_t hash)
{
    __builtin_prefetch(set_of(table, hash), 1);
}

uint64_t rate_table_word(const struct rate_table *table, uint32_t hash, uint64_t key)
{
    const struct rate_set *set = set_of(table, hash);
    for (size_t i = 0; i < WAYS; i++) {
        if (atomic_load_explicit(&set->ways[i].key, memory_order_relaxed) == key) {
            return atomic_load_explicit(&set->ways[i].word, memory_order_relaxed);
        }
    }
    return 0;
}

/* Clears what the entry's last key has left. If another thread is changing the word meanwhile, that
 * change is lost. */
static void rate_table_forget(struct rate_entry *entry, uint64_t idle)
{
    if (atomic_load_explicit(&entry->word, memory_order_relaxed) > idle) {
        atomic_store_explicit(&entry->word, idle, memory_order_relaxed);
    }
}

struct rate_entry *rate_table_find(const struct rate_table *table, uint32_t hash, uint64_t key,
                                   uint64_t idle, uint64_t least)
{
    struct rate_set *set = set_of(table, hash);
    for (unsigned tries = 0; tries < TRIES; tries++) {
        struct rate_entry *victim = NULL;
        uint64_t victim_word = UINT64_MAX, victim_key = 0;
        for (size_t i = 0; i < WAYS; i++) {
            struct rate_entry *entry = &set->ways[i];
            uint64_t owner = atomic_load_explicit(&entry->key, memory_order_relaxed);
            if (owner == key) {
                return entry;
            }
            uint64_t word = atomic_load_explicit(&entry->word, memory_order_relaxed);
            word = owner == 0 ? 0 : word - least;
            if (word < victim_word) {
                victim = entry;
                victim_word = word;
                victim_key = owner;
            }
        }
        if (atomic_compare_exchange_strong_explicit(&victim->key, &victim_key, key,
                                                    memory_order_relaxed, memory_order_relaxed)) {
            rate_table_forget(victim, idle);
            return victim;
        }
    }
    return NULL;
}
