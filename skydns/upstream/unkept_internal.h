/* Remembers which replies were not kept last, and why: a table of fixed size, in which the newest
 * entry of a hash takes the place of an older one. Written by the resolver's thread, read by any
 * without a lock; a reader that comes while an entry is written finds nothing. 64 KB. */
#ifndef SKYDNS_UPSTREAM_UNKEPT_INTERNAL_H
#define SKYDNS_UPSTREAM_UNKEPT_INTERNAL_H

#include "skydns/upstream/fetcher.h"

struct unkept;

struct unkept *unkept_new(void);
void unkept_free(struct unkept *unkept); /* NULL is fine */

/* The resolver's thread. */
void unkept_note(struct unkept *unkept, const struct cache_key *key,
                 const struct fetcher_unkept *what);

/* Any thread: fetcher_unkept. */
bool unkept_find(const struct unkept *unkept, const struct cache_key *key,
                 struct fetcher_unkept *ret);

#endif
