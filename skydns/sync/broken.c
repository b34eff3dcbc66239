#include "skydns/sync/broken.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "common/base/xalloc.h"

struct entry {
    UT_hash_handle hh;
    char *reason;
    int64_t mod_revision;
    uint32_t read; /* the full read it was last seen in */
    size_t key_len;
    char key[];
};

struct broken_table {
    struct entry *entries; /* by key */
    uint32_t read;
};

struct broken_table *broken_new(void)
{
    return xcalloc(1, sizeof(struct broken_table));
}

static void remove_entry(struct broken_table *table, struct entry *entry)
{
    HASH_DEL(table->entries, entry);
    free(entry->reason);
    free(entry);
}

void broken_free(struct broken_table *table)
{
    struct entry *entry, *next;
    if (!table) {
        return;
    }
    HASH_ITER(hh, table->entries, entry, next)
    {
        remove_entry(table, entry);
    }
    free(table);
}

static struct entry *find(const struct broken_table *table, struct slice key)
{
    struct entry *entry = NULL;
    HASH_FIND(hh, table->entries, key.ptr, key.len, entry);
    return entry;
}

bool broken_put(struct broken_table *table, struct slice key, int64_t mod_revision,
                const char *reason)
{
    struct entry *entry = find(table, key);
    if (entry && entry->mod_revision == mod_revision) {
        entry->read = table->read;
        return false;
    }
    if (entry) {
        remove_entry(table, entry);
    }
    if (broken_count(table) < BROKEN_MAX && key.len <= BROKEN_KEY_MAX) {
        entry = xcalloc(1, sizeof(*entry) + key.len);
        entry->reason = xstrdup(reason);
        entry->mod_revision = mod_revision;
        entry->read = table->read;
        entry->key_len = key.len;
        memcpy(entry->key, key.ptr, key.len);
        HASH_ADD_KEYPTR(hh, table->entries, entry->key, entry->key_len, entry);
    }
    return true;
}

void broken_del(struct broken_table *table, struct slice key)
{
    struct entry *entry = find(table, key);
    if (entry) {
        remove_entry(table, entry);
    }
}

void broken_begin_read(struct broken_table *table)
{
    table->read++;
}

void broken_end_read(struct broken_table *table)
{
    struct entry *entry, *next;
    HASH_ITER(hh, table->entries, entry, next)
    {
        if (entry->read != table->read) {
            remove_entry(table, entry);
        }
    }
}

size_t broken_count(const struct broken_table *table)
{
    return HASH_COUNT(table->entries);
}

static struct broken_key view(const struct entry *entry)
{
    return (struct broken_key){.key = slice_of(entry->key, entry->key_len),
                               .reason = entry->reason,
                               .mod_revision = entry->mod_revision};
}

bool broken_find(const struct broken_table *table, struct slice key, struct broken_key *ret)
{
    const struct entry *entry = find(table, key);
    if (entry) {
        *ret = view(entry);
    }
    return entry != NULL;
}

void broken_each(const struct broken_table *table,
                 bool (*fn)(void *data, const struct broken_key *key), void *data)
{
    for (const struct entry *entry = table->entries; entry; entry = entry->hh.next) {
        struct broken_key key = view(entry);
        if (!fn(data, &key)) {
            return;
        }
    }
}
