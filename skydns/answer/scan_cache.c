#include "skydns/answer/scan_cache_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

struct entry {
    struct scan_key key;
    size_t count;
    const struct store_record **records; /* NULL: free */
};

struct scan_cache {
    size_t next; /* the entry to replace next: the oldest */
    size_t record_count;
    struct entry entries[SCAN_CACHE_ENTRIES];
};

struct scan_cache *scan_cache_new(void)
{
    return xcalloc(1, sizeof(struct scan_cache));
}

static void scan_cache_forget(struct scan_cache *cache, struct entry *entry)
{
    cache->record_count -= entry->count;
    free(entry->records);
    *entry = (struct entry){.records = NULL};
}

void scan_cache_free(struct scan_cache *cache)
{
    if (cache) {
        for (size_t i = 0; i < SCAN_CACHE_ENTRIES; i++) {
            scan_cache_forget(cache, &cache->entries[i]);
        }
        free(cache);
    }
}

static bool scan_cache_is_same_client(const struct scan_key *a, const struct scan_key *b)
{
    return a->config_serial == b->config_serial && a->has_space == b->has_space &&
           slice_equal(client_space_label(&a->space), client_space_label(&b->space));
}

static bool scan_cache_is_same(const struct scan_key *a, const struct scan_key *b)
{
    return a->serial == b->serial && a->domain_labels == b->domain_labels &&
           a->no_wildcards == b->no_wildcards && a->is_ports == b->is_ports &&
           a->is_whole == b->is_whole && (a->is_whole || scan_cache_is_same_client(a, b)) &&
           dname_equal(&a->name, &b->name);
}

const struct store_record *const *scan_cache_find(const struct scan_cache *cache,
                                                  const struct scan_key *key, size_t *ret_count)
{
    for (size_t i = 0; i < SCAN_CACHE_ENTRIES; i++) {
        const struct entry *entry = &cache->entries[i];
        if (entry->records && scan_cache_is_same(&entry->key, key)) {
            *ret_count = entry->count;
            return entry->records;
        }
    }
    return NULL;
}

void scan_cache_keep(struct scan_cache *cache, const struct scan_key *key,
                     const struct store_record *const *records, size_t count)
{
    for (size_t i = 0; i < SCAN_CACHE_ENTRIES; i++) {
        if (cache->entries[i].key.serial != key->serial) {
            scan_cache_forget(cache, &cache->entries[i]);
        }
    }
    if (count > SCAN_CACHE_RECORDS) {
        return;
    }
    struct entry *entry;
    do {
        entry = &cache->entries[cache->next];
        cache->next = (cache->next + 1) % SCAN_CACHE_ENTRIES;
        scan_cache_forget(cache, entry);
    } while (cache->record_count + count > SCAN_CACHE_RECORDS);
    entry->key = *key;
    entry->count = count;
    entry->records = xcalloc(count > 0 ? count : 1, sizeof(const struct store_record *));
    if (count > 0) {
        memcpy(entry->records, records, count * sizeof(const struct store_record *));
    }
    cache->record_count += count;
}
