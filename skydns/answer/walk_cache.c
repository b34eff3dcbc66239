#include "skydns/answer/walk_cache_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

struct entry {
    struct walk_key key;
    size_t count;
    const struct store_record **records; /* NULL: free */
};

struct walk_cache {
    size_t next; /* to be replaced: the oldest */
    size_t record_count;
    struct entry entries[WALK_CACHE_ENTRIES];
};

struct walk_cache *walk_cache_new(void)
{
    return xcalloc(1, sizeof(struct walk_cache));
}

static void forget(struct walk_cache *cache, struct entry *entry)
{
    cache->record_count -= entry->count;
    free(entry->records);
    *entry = (struct entry){.records = NULL};
}

void walk_cache_free(struct walk_cache *cache)
{
    if (cache) {
        for (size_t i = 0; i < WALK_CACHE_ENTRIES; i++) {
            forget(cache, &cache->entries[i]);
        }
        free(cache);
    }
}

static bool is_same_client(const struct walk_key *a, const struct walk_key *b)
{
    return a->config_serial == b->config_serial && a->has_space == b->has_space &&
           slice_equal(client_space_label(&a->space), client_space_label(&b->space));
}

static bool is_same(const struct walk_key *a, const struct walk_key *b)
{
    return a->serial == b->serial && a->domain_labels == b->domain_labels &&
           a->no_wildcards == b->no_wildcards && a->is_ports == b->is_ports &&
           a->is_whole == b->is_whole && (a->is_whole || is_same_client(a, b)) &&
           dname_equal(&a->name, &b->name);
}

const struct store_record *const *walk_cache_find(const struct walk_cache *cache,
                                                  const struct walk_key *key, size_t *ret_count)
{
    for (size_t i = 0; i < WALK_CACHE_ENTRIES; i++) {
        const struct entry *entry = &cache->entries[i];
        if (entry->records && is_same(&entry->key, key)) {
            *ret_count = entry->count;
            return entry->records;
        }
    }
    return NULL;
}

void walk_cache_keep(struct walk_cache *cache, const struct walk_key *key,
                     const struct store_record *const *records, size_t count)
{
    for (size_t i = 0; i < WALK_CACHE_ENTRIES; i++) {
        if (cache->entries[i].key.serial != key->serial) {
            forget(cache, &cache->entries[i]);
        }
    }
    if (count > WALK_CACHE_RECORDS) {
        return;
    }
    struct entry *entry;
    do {
        entry = &cache->entries[cache->next];
        cache->next = (cache->next + 1) % WALK_CACHE_ENTRIES;
        forget(cache, entry);
    } while (cache->record_count + count > WALK_CACHE_RECORDS);
    entry->key = *key;
    entry->count = count;
    entry->records = xcalloc(count > 0 ? count : 1, sizeof(const struct store_record *));
    if (count > 0) {
        memcpy(entry->records, records, count * sizeof(const struct store_record *));
    }
    cache->record_count += count;
}
