#include "common/base/seeded_hash.h"

#include <string.h>
#include <sys/random.h>

static uint64_t seeds[2];

void seeded_hash_init(void)
{
    if (seeds[1] != 0) {
        return;
    }
    if (getrandom(seeds, sizeof(seeds), 0) != (ssize_t)sizeof(seeds)) {
        seeds[0] = (uint64_t)(uintptr_t)seeds; /* the address is random, too */
    }
    seeds[1] |= 1;
}

static uint64_t load64(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static uint64_t load32(const char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

/* Folds both halves of the product, so that each bit depends on all bits of both factors. */
static uint64_t multiply_fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t seeded_hash64(struct slice bytes)
{
    const char *p = bytes.ptr;
    size_t left = bytes.len;
    uint64_t h = seeds[0], tail = 0;
    for (; left > 8; left -= 8, p += 8) {
        h = multiply_fold(h ^ load64(p), seeds[1]);
    }
    if (left >= 4) { /* 4 to 8 bytes as two overlapping halves */
        tail = load32(p) << 32 | load32(p + left - 4);
    } else if (left > 0) { /* 1 to 3 */
        tail = (uint64_t)(uint8_t)p[0] << 16 | (uint64_t)(uint8_t)p[left / 2] << 8 |
               (uint8_t)p[left - 1];
    }
    /* The length goes into the other factor: next to the tail, "s1" would collide with "s10". */
    return multiply_fold(h ^ tail, seeds[1] ^ bytes.len);
}

uint32_t seeded_hash(struct slice bytes)
{
    uint64_t h = seeded_hash64(bytes);
    return (uint32_t)(h ^ h >> 32);
}
