/* Counts what became of questions about other domains, counted by each answering thread for itself.
 * The metrics sum them; class CHAOS has them as dnsmasq does. Lives longer than any cache: a
 * changed -rcache makes a new cache, and the counts go on. */
#ifndef SKYDNS_EXTERNAL_CACHE_COUNTS_H
#define SKYDNS_EXTERNAL_CACHE_COUNTS_H

#include "common/base/metrics.h"
#include "skydns/external/cache.h"

/* One thread's. */
struct cache_counts {
    struct counter hits_positive, hits_negative, hits_failure, hits_stale;
    struct counter misses;
    struct counter no_aaaa, dns64; /* answers that -no-aaaa and -dns64 made */
    /* The filling thread's */
    struct counter prefetches, insertions, evictions;
};

/* Counts what was used of the cache, by its kind. */
static inline void cache_counts_hit(struct cache_counts *counts, const struct cache_hit *hit)
{
    counter_add(hit->state == CACHE_STALE    ? &counts->hits_stale
                : hit->state == CACHE_FAILED ? &counts->hits_failure
                : hit->is_negative           ? &counts->hits_negative
                                             : &counts->hits_positive,
                1);
}

/* All threads'. */
struct cache_tally;

struct cache_tally *cache_tally_new(void);
void cache_tally_free(struct cache_tally *tally); /* its threads are gone; NULL is fine */

/* Main thread, before the thread starts: its counts, which live as long as the tally. `tally` NULL:
 * counts that nobody sums, for tests. */
struct cache_counts *cache_tally_join(struct cache_tally *tally);

/* Any thread: adds up all threads' counts. */
void cache_tally_sum(const struct cache_tally *tally, struct cache_counts *ret_sums);

#endif
