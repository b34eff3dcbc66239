/* Makes fast random numbers for rotation and spreading, with one state per thread. Never for
 * anything an attacker must not guess: the forwarder asks the kernel for that. xorshift64,
 * Marsaglia 2003. */
#ifndef SKYDNS_RECORDS_RNG_H
#define SKYDNS_RECORDS_RNG_H

#include <stdint.h>
#include <sys/random.h>

struct rng {
    uint64_t state; /* never 0 */
};

static inline void rng_seed(struct rng *rng)
{
    if (getrandom(&rng->state, sizeof(rng->state), 0) < 0 || rng->state == 0) {
        rng->state = 1;
    }
}

static inline uint32_t rng_next(struct rng *rng)
{
    rng->state ^= rng->state << 13;
    rng->state ^= rng->state >> 7;
    rng->state ^= rng->state << 17;
    return (uint32_t)(rng->state >> 32);
}

/* Orders an answer's addresses from the query's own random number: the fast path and the slow path
 * shuffle alike. xorshift32; 0 would stay 0. */
static inline uint32_t shuffle_random(uint32_t *state)
{
    uint32_t x = *state ? *state : 1;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

#endif
