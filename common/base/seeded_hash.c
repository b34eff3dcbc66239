#include "common/base/seeded_hash.h"

#include <endian.h>
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

static uint64_t seeded_hash_load64(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static uint64_t seeded_hash_load32(const char *p)
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
        h = multiply_fold(h ^ seeded_hash_load64(p), seeds[1]);
    }
    if (left >= 4) { /* 4 to 8 bytes as two overlapping halves */
        tail = seeded_hash_load32(p) << 32 | seeded_hash_load32(p + left - 4);
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

struct state {
    uint64_t v0, v1, v2, v3;
};

/* Loads up to eight bytes. */
static inline uint64_t load_little(const uint8_t *at, size_t len)
{
    uint64_t word = 0;
    memcpy(&word, at, len);
    return le64toh(word);
}

static uint64_t seeded_hash_rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void seeded_hash_mix(struct state *s, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = seeded_hash_rotate(s->v1, 13) ^ s->v0;
        s->v3 = seeded_hash_rotate(s->v3, 16) ^ s->v2;
        s->v0 = seeded_hash_rotate(s->v0, 32);
        s->v2 += s->v1;
        s->v0 += s->v3;
        s->v1 = seeded_hash_rotate(s->v1, 17) ^ s->v2;
        s->v3 = seeded_hash_rotate(s->v3, 21) ^ s->v0;
        s->v2 = seeded_hash_rotate(s->v2, 32);
    }
}

static inline void seeded_hash_absorb(struct state *s, uint64_t word)
{
    s->v3 ^= word;
    seeded_hash_mix(s, 2);
    s->v0 ^= word;
}

uint64_t siphash24(const uint8_t key[SIPHASH_KEY_SIZE], struct slice bytes)
{
    const uint8_t *at = (const uint8_t *)bytes.ptr;
    uint64_t k0 = load_little(key, 8), k1 = load_little(key + 8, 8);
    struct state s = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
                      k0 ^ UINT64_C(0x6c7967656e657261), k1 ^ UINT64_C(0x7465646279746573)};
    size_t left = bytes.len;
    for (; left >= 8; left -= 8, at += 8) {
        seeded_hash_absorb(&s, load_little(at, 8));
    }
    seeded_hash_absorb(&s, (left > 0 ? load_little(at, left) : 0) | (uint64_t)bytes.len << 56);
    s.v2 ^= 0xff;
    seeded_hash_mix(&s, 4);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
