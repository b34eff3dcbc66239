/* Jittered exponential delay between attempts. Pure: the caller supplies the random number and
 * waits.
 *
 * The n-th delay is uniform in [d/2, d], d = min(first_ms * 2^n, max_ms), so that a thousand
 * readers of one etcd do not return in lockstep. */
#ifndef COMMON_BASE_BACKOFF_H
#define COMMON_BASE_BACKOFF_H

#include <stdint.h>

struct backoff {
    uint32_t first_ms;
    uint32_t max_ms;
    uint32_t failures; /* in a row */
};

/* Bound the delays to an unreachable server. A single etcd that restarts is back within a second or
 * two, and a thousand clients that each retry once a second do not load it. Every retry against
 * etcd uses these bounds: connections, mirrors, transactions, the leader's key, the store key. */
enum { BACKOFF_REMOTE_FIRST_MS = 100, BACKOFF_REMOTE_MAX_MS = 1000 };

/* Bounds the delay if the server answers but refuses (TLS, a password): only a change of
 * configuration ends that. */
enum { BACKOFF_REFUSED_MAX_MS = 5000 };

void backoff_init(struct backoff *b, uint32_t first_ms, uint32_t max_ms);

/* Returns the delay before the next attempt; counts one more failure. */
uint32_t backoff_next_ms(struct backoff *b, uint32_t random);

/* Call this after the first good message, not after a mere connection. */
void backoff_reset(struct backoff *b);

/* Returns a random number from the kernel, for backoff_next_ms; not for secrets. */
uint32_t backoff_random(void);

#endif
