/* Remembers unusable keys below the prefix, and why: /cache and /explain show them, and the log
 * does not repeat them at every full read. Main thread. */
#ifndef SKYDNS_SYNC_BROKEN_H
#define SKYDNS_SYNC_BROKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"

/* Limits the keys remembered: one broken writer makes thousands; 3 MB. Further ones are counted,
 * and logged each time. */
enum { BROKEN_MAX = 10000 };

/* Limits a key remembered: no name's key has more than 255 bytes plus the prefix. */
enum { BROKEN_KEY_MAX = 1024 };

struct broken_table;
struct buf;

struct broken_key {
    struct slice key;
    const char *reason;
    int64_t mod_revision;
};

struct broken_table *broken_new(void);
void broken_free(struct broken_table *table); /* NULL is fine */

/* Remembers a key; copies it and the reason. Returns false if it is already known with this
 * revision. */
bool broken_put(struct broken_table *table, struct slice key, int64_t mod_revision,
                const char *reason);
void broken_del(struct broken_table *table, struct slice key);

/* Enclose a full read: its end drops the keys that were not put again since the beginning. A second
 * begin starts over. */
void broken_begin_read(struct broken_table *table);
void broken_end_read(struct broken_table *table);

/* Save and load: appends all keys; fills an empty table from those bytes. Returns false if the
 * bytes are malformed. */
void broken_save(const struct broken_table *table, struct buf *out);
bool broken_is_saved(struct slice saved) MUST_CHECK;
bool broken_load(struct broken_table *table, struct slice saved) MUST_CHECK;

size_t broken_count(const struct broken_table *table);

/* Calls fn for each, oldest first, until fn returns false. */
void broken_each(const struct broken_table *table,
                 bool (*fn)(void *data, const struct broken_key *key), void *data);

#endif
