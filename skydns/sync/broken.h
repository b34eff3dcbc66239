/* Keys below the prefix that cannot be answered from, and why: what /cache and /explain show, and
 * what keeps the log from saying the same key again at every full read. Main thread. */
#ifndef SKYDNS_SYNC_BROKEN_H
#define SKYDNS_SYNC_BROKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"

/* Keys that are remembered: one broken writer makes thousands; 3 MB. What comes beyond is counted,
 * and logged each time. */
enum { BROKEN_MAX = 10000 };

/* Longer ones are not remembered either: no name has a key of more than 255 bytes and the prefix.
 */
enum { BROKEN_KEY_MAX = 1024 };

struct broken_table;

struct broken_key {
    struct slice key;
    const char *reason;
    int64_t mod_revision;
};

struct broken_table *broken_new(void);
void broken_free(struct broken_table *table); /* NULL is fine */

/* False: it was known, with this revision. Key and reason are copied. */
bool broken_put(struct broken_table *table, struct slice key, int64_t mod_revision,
                const char *reason);
void broken_del(struct broken_table *table, struct slice key);

/* A full read: what is not put again until the end of it is gone. Begun again, it starts over. */
void broken_begin_read(struct broken_table *table);
void broken_end_read(struct broken_table *table);

size_t broken_count(const struct broken_table *table);

/* Calls fn for each, the oldest first, until it returns false. */
void broken_each(const struct broken_table *table,
                 bool (*fn)(void *data, const struct broken_key *key), void *data);

#endif
