/* The hash of tables whose keys others choose (names of services, labels of queries): seeded, so
 * that nobody can make them collide. Any thread once the seed is drawn. */
#ifndef COMMON_BASE_SEEDED_HASH_H
#define COMMON_BASE_SEEDED_HASH_H

#include <stdint.h>

#include "common/base/slice.h"

/* Draws the seed, once in the process; later calls change nothing. Main thread, before the first
 * seeded_hash. */
void seeded_hash_init(void);

uint32_t seeded_hash(struct slice bytes);

#endif
