#include "skydns/external/cache_queue_internal.h"

#include "skydns/external/cache_entry_internal.h"

struct links {
    uint32_t newer, older;
};

static struct links links_of(const struct cache_chunks *chunks, uint32_t entry)
{
    uint64_t word = chunk_get(&chunk_words(chunks, entry)[ENTRY_LINKS]);
    return (struct links){(uint32_t)(word >> 32), (uint32_t)word};
}

static void set_links(const struct cache_chunks *chunks, uint32_t entry, struct links links)
{
    chunk_set(&chunk_words(chunks, entry)[ENTRY_LINKS], (uint64_t)links.newer << 32 | links.older);
}

static void set_newer(const struct cache_chunks *chunks, uint32_t entry, uint32_t newer)
{
    set_links(chunks, entry, (struct links){newer, links_of(chunks, entry).older});
}

static void set_older(const struct cache_chunks *chunks, uint32_t entry, uint32_t older)
{
    set_links(chunks, entry, (struct links){links_of(chunks, entry).newer, older});
}

void cache_queue_add(struct cache_queue *queue, const struct cache_chunks *chunks, uint32_t entry,
                     size_t entry_chunks)
{
    set_links(chunks, entry, (struct links){.older = queue->newest});
    if (queue->newest) {
        set_newer(chunks, queue->newest, entry);
    } else {
        queue->oldest = entry;
    }
    queue->newest = entry;
    queue->entries++;
    queue->chunks += entry_chunks;
}

void cache_queue_remove(struct cache_queue *queue, const struct cache_chunks *chunks,
                        uint32_t entry, size_t entry_chunks)
{
    struct links links = links_of(chunks, entry);
    if (queue->hand == entry) {
        queue->hand = links.newer;
    }
    if (links.newer) {
        set_older(chunks, links.newer, links.older);
    } else {
        queue->newest = links.older;
    }
    if (links.older) {
        set_newer(chunks, links.older, links.newer);
    } else {
        queue->oldest = links.newer;
    }
    queue->entries--;
    queue->chunks -= entry_chunks;
}

uint32_t cache_queue_victim(struct cache_queue *queue, const struct cache_chunks *chunks,
                            cache_take_use_fn take_use)
{
    uint32_t entry = queue->hand ? queue->hand : queue->oldest;
    for (unsigned spared = 0; entry && spared < QUEUE_SPARED_MAX && take_use(chunks, entry);
         spared++) {
        uint32_t newer = links_of(chunks, entry).newer;
        entry = newer ? newer : queue->oldest;
    }
    queue->hand = entry;
    return entry;
}
