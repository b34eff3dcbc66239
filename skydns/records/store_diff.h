/* Finds the differences between two versions of the records. Any thread with both versions, pinned
 * or entered.
 *
 * Versions share all blocks that no change between them touched (store.h), and shared blocks are
 * skipped. So this costs what has changed, not what there is. After a full read, which keeps equal
 * records, all nodes are new and each is compared. */
#ifndef SKYDNS_RECORDS_STORE_DIFF_H
#define SKYDNS_RECORDS_STORE_DIFF_H

#include <stdbool.h>

#include "skydns/records/store.h"

/* Called once for each name whose record was added (old_record NULL), removed (new_record NULL) or
 * changed, hidden ones included, in no particular order. A record rewritten unchanged differs only
 * in its revision, which no answer has: it is left out. Returns false to stop. */
typedef bool (*store_diff_fn)(void *data, const struct store_record *old_record,
                              const struct store_record *new_record);

/* Compares two versions. Returns false if fn did. */
bool store_diff(const struct store *old_store, const struct store *new_store, store_diff_fn fn,
                void *data);

#endif
