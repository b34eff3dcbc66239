/* Finds what differs between two versions of the records. Versions share all blocks that no change
 * between them touched (store.h), and shared blocks are passed over, so this costs what has
 * changed, not what there is; after a full read, which keeps the records that are the same, all
 * nodes are new and each is compared. Any thread with both versions, pinned or entered. */
#ifndef SKYDNS_RECORDS_STORE_DIFF_H
#define SKYDNS_RECORDS_STORE_DIFF_H

#include <stdbool.h>

#include "skydns/records/store.h"

/* Once for each name whose record was added (old_record NULL), removed (new_record NULL) or says
 * something else, hidden ones included, in no particular order. A record rewritten as it was
 * differs only in its revision, which no answer has: it is left out. False: stop. */
typedef bool (*store_diff_fn)(void *data, const struct store_record *old_record,
                              const struct store_record *new_record);

/* Returns false if fn did. */
bool store_diff(const struct store *old_store, const struct store *new_store, store_diff_fn fn,
                void *data);

#endif
