/* SipHash-2-4 (Aumasson, Bernstein 2012): a short keyed hash that nobody without the key can
 * predict, in about 15 ns for the 20 bytes of a cookie. libcrypto's takes 60 ns, and needs a
 * context for each thread and key. Hash tables use seeded_hash.h, which is faster still. Pure; any
 * thread.
 */
#ifndef COMMON_BASE_SIPHASH_H
#define COMMON_BASE_SIPHASH_H

#include <stdint.h>

#include "common/base/slice.h"

enum { SIPHASH_KEY_SIZE = 16 };

/* The number whose little-endian bytes are the hash as written in test vectors. */
uint64_t siphash24(const uint8_t key[SIPHASH_KEY_SIZE], struct slice bytes);

#endif
