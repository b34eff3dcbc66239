/* A histogram of durations in nanoseconds: 64 steps per power of two, so that percentiles are at
 * most 1.6 % off. One thread writes; read it only when that thread has ended or moved
 * on. */
#ifndef TESTS_BENCH_HISTOGRAM_H
#define TESTS_BENCH_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

enum {
    HISTOGRAM_STEP_BITS = 6,
    HISTOGRAM_STEPS = 1 << HISTOGRAM_STEP_BITS,
    HISTOGRAM_POWERS = 40, /* up to 18 minutes */
};

struct fine_histogram {
    uint64_t count;
    uint64_t sum_ns;
    uint64_t max_ns;
    uint64_t buckets[HISTOGRAM_POWERS * HISTOGRAM_STEPS];
};

/* Below HISTOGRAM_STEPS each value has its own bucket. */
static inline size_t histogram_bucket(uint64_t ns)
{
    if (ns < HISTOGRAM_STEPS) {
        return (size_t)ns;
    }
    unsigned shift = 63 - (unsigned)__builtin_clzll(ns) - HISTOGRAM_STEP_BITS;
    size_t bucket = (shift << HISTOGRAM_STEP_BITS) + (size_t)(ns >> shift);
    size_t last = HISTOGRAM_POWERS * HISTOGRAM_STEPS - 1;
    return bucket < last ? bucket : last;
}

static inline void histogram_add(struct fine_histogram *h, uint64_t ns)
{
    h->count++;
    h->sum_ns += ns;
    h->max_ns = ns > h->max_ns ? ns : h->max_ns;
    h->buckets[histogram_bucket(ns)]++;
}

/* A bucket's smallest duration. */
static inline uint64_t histogram_floor(size_t bucket)
{
    if (bucket < 2 * HISTOGRAM_STEPS) {
        return bucket;
    }
    unsigned shift = (unsigned)(bucket >> HISTOGRAM_STEP_BITS) - 1;
    return (uint64_t)(bucket - ((size_t)shift << HISTOGRAM_STEP_BITS)) << shift;
}

/* The duration that `part` of all do not exceed; 0 if there are none. */
static inline uint64_t histogram_percentile(const struct fine_histogram *h, double part)
{
    uint64_t below = 0, wanted = (uint64_t)(part * (double)h->count);
    for (size_t i = 0; i < HISTOGRAM_POWERS * HISTOGRAM_STEPS; i++) {
        below += h->buckets[i];
        if (below > wanted) {
            return histogram_floor(i);
        }
    }
    return h->max_ns;
}

#endif
