/* Hashes with FNV-1a 32, for the small tables of one answer (duplicates, compression). They are
 * bounded and emptied for every answer, and a client influences their content only by naming a
 * record. Pure. */
#ifndef SKYDNS_RECORDS_HASH_H
#define SKYDNS_RECORDS_HASH_H

#include <stddef.h>
#include <stdint.h>

enum { HASH_PRIME = 16777619 };
#define HASH_START 2166136261u

static inline uint32_t hash_bytes(uint32_t h, const void *bytes, size_t len)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < len; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.*): it does not see numbers as bytes */
        h = (h ^ p[i]) * HASH_PRIME;
    }
    return h;
}

#endif
