/* Remembers which responses were not cached last, and why: a table of fixed size, 64 KB. The newest
 * entry of a hash replaces an older one. The resolver's thread writes it, and any thread reads it
 * without a lock. A reader that comes while an entry is written finds nothing. */
#ifndef SKYDNS_UPSTREAM_UNCACHED_INTERNAL_H
#define SKYDNS_UPSTREAM_UNCACHED_INTERNAL_H

#include "skydns/upstream/fetcher.h"

struct uncached;

struct uncached *uncached_new(void);
void uncached_free(struct uncached *uncached); /* NULL is fine */

/* Notes a response that is not cached. The resolver's thread. */
void uncached_note(struct uncached *uncached, const struct cache_key *key,
                   const struct fetcher_uncached *what);

/* Finds the reason: fetcher_uncached. Any thread. */
bool uncached_find(const struct uncached *uncached, const struct cache_key *key,
                   struct fetcher_uncached *ret);

#endif
