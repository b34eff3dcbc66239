/* Remembers which replies were not kept last, and why: a table of fixed size, in which the newest
 * entry of a hash takes the place of an older one. Written by the resolver's thread, read by any
 * without a lock; a reader that comes while an entry is written finds nothing. 64 KB. */
#ifndef SKYDNS_UPSTREAM_UNCACHED_INTERNAL_H
#define SKYDNS_UPSTREAM_UNCACHED_INTERNAL_H

#include "skydns/upstream/fetcher.h"

struct uncached;

struct uncached *uncached_new(void);
void uncached_free(struct uncached *uncached); /* NULL is fine */

/* The resolver's thread. */
void uncached_note(struct uncached *uncached, const struct cache_key *key,
                   const struct fetcher_uncached *what);

/* Any thread: fetcher_uncached. */
bool uncached_find(const struct uncached *uncached, const struct cache_key *key,
                   struct fetcher_uncached *ret);

#endif
