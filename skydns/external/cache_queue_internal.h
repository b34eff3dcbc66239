/* Which entry has to go: SIEVE (Zhang and others, NSDI 2024). A hand moves from the oldest entry to
 * the newest; it spares, once, an entry that was used since it last came by, and evicts the first
 * that was not. New entries are put before the newest and have to prove themselves before the hand
 * reaches them: names that are asked for once push each other out, not the popular ones. A hit
 * writes nothing unless it is the first since then.
 *
 * The filling thread's. */
#ifndef SKYDNS_EXTERNAL_CACHE_QUEUE_INTERNAL_H
#define SKYDNS_EXTERNAL_CACHE_QUEUE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/external/cache_chunks_internal.h"

/* Entries that one eviction may spare: where all of a million were used, the hand does not go round
 * all of them while a reply waits. Each takes one access to memory, a tenth of a microsecond. */
enum { QUEUE_SPARED_MAX = 1024 };

struct cache_queue {
    uint32_t newest, oldest, hand; /* first chunks of entries; 0: none */
    size_t entries, chunks;
};

void cache_queue_add(struct cache_queue *queue, const struct cache_chunks *chunks, uint32_t entry,
                     size_t entry_chunks);
void cache_queue_remove(struct cache_queue *queue, const struct cache_chunks *chunks,
                        uint32_t entry, size_t entry_chunks);

/* The entry to evict, or 0; it is still in the queue. `take_use` says whether an entry was used,
 * and forgets it. */
typedef bool (*cache_take_use_fn)(const struct cache_chunks *chunks, uint32_t entry);
uint32_t cache_queue_victim(struct cache_queue *queue, const struct cache_chunks *chunks,
                            cache_take_use_fn take_use);

#endif
