/* Counts signatures made and reused, and finds which ends first. */
#include "skydns/dnssec/dnssec_internal.h"

#include <stdalign.h>

#include "common/base/clock.h"

/* Counts made signatures; making one takes far longer than waiting for another processor's cache
 * line. */
static _Atomic uint64_t made, failed, made_ns;

/* Counts found signatures; finding one takes less than that wait. Each thread has a stripe to
 * itself, or shares it with one or two where there are more threads than stripes. */
enum { STRIPES = 32 };
static struct {
    alignas(COUNTERS_ALIGN) _Atomic uint64_t reused;
} stripes[STRIPES];
static atomic_uint stripes_taken;
static _Thread_local unsigned stripe; /* from 1; 0: none yet */

/* Earliest end of signatures given in a minute of the wall clock, for even and for odd minutes: the
 * minute's low bits, then the second. Read by each response, rarely written. */
enum { END_BITS = 40, MINUTE_S = 60 };
static _Atomic uint64_t first_ends[2];

void dnssec_count_made(bool is_made, int64_t cpu_ns)
{
    atomic_fetch_add_explicit(is_made ? &made : &failed, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&made_ns, cpu_ns > 0 ? (uint64_t)cpu_ns : 0, memory_order_relaxed);
}

void dnssec_count_reused(size_t count)
{
    if (stripe == 0) {
        stripe = 1 + atomic_fetch_add_explicit(&stripes_taken, 1, memory_order_relaxed) % STRIPES;
    }
    atomic_fetch_add_explicit(&stripes[stripe - 1].reused, count, memory_order_relaxed);
}

static uint64_t minute_of(int64_t s)
{
    return (uint64_t)s / MINUTE_S % (UINT64_C(1) << (64 - END_BITS));
}

void dnssec_note_end(int64_t end_s, int64_t now_s)
{
    uint64_t minute = minute_of(now_s);
    uint64_t mine = minute << END_BITS | ((uint64_t)end_s & ((UINT64_C(1) << END_BITS) - 1));
    _Atomic uint64_t *first_end = &first_ends[minute % 2];
    uint64_t there = atomic_load_explicit(first_end, memory_order_relaxed);
    while ((there >> END_BITS != minute || mine < there) &&
           !atomic_compare_exchange_weak_explicit(first_end, &there, mine, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

static int64_t first_end(int64_t now_s)
{
    uint64_t least = 0, minute = minute_of(now_s);
    for (size_t i = 0; i < 2; i++) {
        uint64_t there = atomic_load_explicit(&first_ends[i], memory_order_relaxed);
        uint64_t end_s = there & ((UINT64_C(1) << END_BITS) - 1);
        bool is_recent = there >> END_BITS == minute || there >> END_BITS == minute - 1;
        if (is_recent && (least == 0 || end_s < least)) {
            least = end_s;
        }
    }
    return (int64_t)least;
}

struct dnssec_figures dnssec_figures(const struct dnssec *dnssec)
{
    struct dnssec_figures figures = {
        .cached = dnssec ? signature_cache_cached(dnssec->cache) : 0,
        .cached_max = dnssec ? signature_cache_max(dnssec->cache) : 0,
        .made = atomic_load_explicit(&made, memory_order_relaxed),
        .failed = atomic_load_explicit(&failed, memory_order_relaxed),
        .made_us = atomic_load_explicit(&made_ns, memory_order_relaxed) / 1000,
        .first_end_s = first_end(clock_wall_s()),
    };
    for (size_t i = 0; i < STRIPES; i++) {
        figures.reused += atomic_load_explicit(&stripes[i].reused, memory_order_relaxed);
    }
    return figures;
}
