#include "skydns/sync/broken.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/buf.h"
#include "common/base/cursor.h"
#include "common/base/err.h"
#include "common/base/key_table.h"
#include "common/base/xalloc.h"

struct entry {
    TAILQ_ENTRY(entry) in_order;
    char *reason;
    int64_t mod_revision;
    uint32_t read; /* the last full read that saw it */
    size_t key_len;
    char key[];
};

struct broken_table {
    struct key_table entries;
    TAILQ_HEAD(, entry) in_order; /* in the order found, oldest first */
    uint32_t read;
};

static struct slice broken_key_of(const void *thing)
{
    const struct entry *entry = thing;
    return slice_of(entry->key, entry->key_len);
}

struct broken_table *broken_new(void)
{
    struct broken_table *table = xcalloc(1, sizeof(*table));
    key_table_init(&table->entries, broken_key_of);
    TAILQ_INIT(&table->in_order);
    return table;
}

static void remove_entry(struct broken_table *table, struct entry *entry)
{
    (void)key_table_take(&table->entries, broken_key_of(entry)); /* this one */
    TAILQ_REMOVE(&table->in_order, entry, in_order);
    free(entry->reason);
    free(entry);
}

void broken_free(struct broken_table *table)
{
    struct entry *entry;
    if (!table) {
        return;
    }
    while ((entry = TAILQ_FIRST(&table->in_order))) {
        remove_entry(table, entry);
    }
    key_table_fini(&table->entries);
    free(table);
}

static struct entry *broken_find(const struct broken_table *table, struct slice key)
{
    return key_table_find(&table->entries, key);
}

bool broken_put(struct broken_table *table, struct slice key, int64_t mod_revision,
                const char *reason)
{
    struct entry *entry = broken_find(table, key);
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
        (void)key_table_put(&table->entries, entry); /* was not there */
        TAILQ_INSERT_TAIL(&table->in_order, entry, in_order);
    }
    return true;
}

void broken_del(struct broken_table *table, struct slice key)
{
    struct entry *entry = broken_find(table, key);
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
    for (struct entry *entry = TAILQ_FIRST(&table->in_order), *next; entry; entry = next) {
        next = TAILQ_NEXT(entry, in_order);
        if (entry->read != table->read) {
            remove_entry(table, entry);
        }
    }
}

size_t broken_count(const struct broken_table *table)
{
    return table->entries.count;
}

void broken_each(const struct broken_table *table,
                 bool (*fn)(void *data, const struct broken_key *key), void *data)
{
    const struct entry *entry;
    TAILQ_FOREACH (entry, &table->in_order, in_order) {
        const struct broken_key key = {.key = broken_key_of(entry),
                                       .reason = entry->reason,
                                       .mod_revision = entry->mod_revision};
        if (!fn(data, &key)) {
            return;
        }
    }
}

/* ---- Across restarts: how many, then key, revision and reason of each, oldest first ---- */

void broken_save(const struct broken_table *table, struct buf *out)
{
    const struct entry *entry;
    buf_append_u32(out, (uint32_t)broken_count(table));
    TAILQ_FOREACH (entry, &table->in_order, in_order) {
        buf_append_sized(out, broken_key_of(entry));
        buf_append_u64(out, (uint64_t)entry->mod_revision);
        buf_append_sized(out, slice_str(entry->reason));
    }
}

/* Loads a key; false if it is there twice, so that none is missing from the table. */
static bool load_entry(struct broken_table *table, struct reader *reader)
{
    char reason[sizeof(((struct err *)NULL)->msg)];
    struct slice key = reader_sized(reader);
    int64_t mod_revision = (int64_t)reader_u64(reader);
    struct slice text = reader_sized(reader);
    if (reader->failed || !key.ptr || !text.ptr || key.len > BROKEN_KEY_MAX || mod_revision <= 0 ||
        text.len >= sizeof(reason) || memchr(text.ptr, '\0', text.len) || broken_find(table, key)) {
        return false;
    }
    memcpy(reason, text.ptr, text.len);
    reason[text.len] = '\0';
    (void)broken_put(table, key, mod_revision, reason); /* is new */
    return true;
}

bool broken_load(struct broken_table *table, struct slice saved)
{
    struct reader reader = reader_of(saved.ptr, saved.len);
    uint32_t count = reader_u32(&reader);
    bool is_good = !reader.failed && count <= BROKEN_MAX;
    for (uint32_t i = 0; is_good && i < count; i++) {
        is_good = load_entry(table, &reader);
    }
    return is_good && reader_left(&reader) == 0;
}

bool broken_is_saved(struct slice saved)
{
    struct broken_table *table = broken_new();
    bool is_saved = broken_load(table, saved);
    broken_free(table);
    return is_saved;
}
