/* Counts the outcomes of questions about external names, on each answering thread for itself.
 *
 * The metrics sum them, and class CHAOS gives them as dnsmasq does. They live longer than any
 * response cache: a changed -rcache makes a new cache, and the counts go on. */
#ifndef SKYDNS_EXTERNAL_CACHE_COUNTS_H
#define SKYDNS_EXTERNAL_CACHE_COUNTS_H

#include "common/base/metrics.h"
#include "skydns/external/cache.h"

/* One thread's counts. */
struct cache_counts {
    struct counter hits_positive, hits_negative, hits_failure, hits_stale;
    struct counter misses;
    struct counter no_aaaa, dns64; /* answers that -no-aaaa and -dns64 made */
    struct counter near;           /* answers without addresses that are not near (-topology) */
    /* The filling thread's: */
    struct counter prefetches, insertions, evictions;
};

/* Counts a use of the response cache, by its kind. */
static inline void cache_counts_hit(struct cache_counts *counts, const struct cache_hit *hit)
{
    counter_add(hit->state == CACHE_STALE    ? &counts->hits_stale
                : hit->state == CACHE_FAILED ? &counts->hits_failure
                : hit->is_negative           ? &counts->hits_negative
                                             : &counts->hits_positive,
                1);
}

/* All threads' counts. */
struct cache_tally;

struct cache_tally *cache_tally_new(void);
void cache_tally_free(struct cache_tally *tally); /* its threads are gone; NULL is fine */

/* Returns the counts of a thread that is about to start; they live as long as the tally. `tally`
 * NULL: counts that nothing sums, for tests. Main thread. */
struct cache_counts *cache_tally_join(struct cache_tally *tally);

/* Adds up all threads' counts. Any thread. */
void cache_tally_sum(const struct cache_tally *tally, struct cache_counts *ret_sums);

#endif
