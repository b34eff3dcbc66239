/* Hash for tables whose keys others choose (service names, query labels), seeded against forced
 * collisions.
 *
 * Differs from process to process. Any thread once the seed is drawn. */
#ifndef COMMON_BASE_SEEDED_HASH_H
#define COMMON_BASE_SEEDED_HASH_H

#include <stdint.h>

#include "common/base/slice.h"

/* Draws the seed once per process; later calls do nothing. Main thread, before the first
 * seeded_hash. */
void seeded_hash_init(void);

uint32_t seeded_hash(struct slice bytes);
uint64_t seeded_hash64(struct slice bytes);

/* SipHash-2-4 (Aumasson, Bernstein 2012): a short keyed hash that cannot be predicted
 * without the key, in about 15 ns for the 20 bytes of a cookie. libcrypto's takes 60 ns, and needs
 * a context for each thread and key. Hash tables use the hash above, which is faster still. Pure;
 * any thread.
 */

enum { SIPHASH_KEY_SIZE = 16 };

/* Returns the number whose little-endian bytes are the hash as written in test vectors. */
uint64_t siphash24(const uint8_t key[SIPHASH_KEY_SIZE], struct slice bytes);

#endif
