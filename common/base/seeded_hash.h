/* Hash for tables whose keys others choose (service names, query labels): seeded, so that nobody
 * can force collisions. Differs from process to process. Any thread once the seed is drawn. */
#ifndef COMMON_BASE_SEEDED_HASH_H
#define COMMON_BASE_SEEDED_HASH_H

#include <stdint.h>

#include "common/base/slice.h"

/* Draws the seed once per process; later calls do nothing. Main thread, before the first
 * seeded_hash. */
void seeded_hash_init(void);

uint32_t seeded_hash(struct slice bytes);
uint64_t seeded_hash64(struct slice bytes);

#endif
