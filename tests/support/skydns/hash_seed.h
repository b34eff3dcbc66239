/* A group's setup for tests of hash tables. */
#ifndef TESTS_SUPPORT_SKYDNS_HASH_SEED_H
#define TESTS_SUPPORT_SKYDNS_HASH_SEED_H

#include "common/base/seeded_hash.h"

static inline int hash_seed(void **state)
{
    (void)state;
    seeded_hash_init();
    return 0;
}

#endif
