#include "skydns/upstream/uncached_internal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"

/* The address in words. */
enum { ADDR_WORDS = (sizeof(struct addr) + 7) / 8 };

/* An entry in words, so that it can be read while it is written. */
struct entry {
    uint64_t question; /* hash */
    uint64_t verdict;
    uint64_t at_ms;
    uint64_t nameserver[ADDR_WORDS];
};

enum { WORDS = sizeof(struct entry) / 8 };

/* A slot. Its sequence is odd while the words are written, and grows by two: a reader that sees the
 * same even one before and after has read one entry. */
struct slot {
    _Atomic uint64_t sequence; /* 0: empty */
    _Atomic uint64_t words[WORDS];
};

struct uncached {
    struct slot slots[FETCHER_UNCACHED_MAX];
};

struct uncached *uncached_new(void)
{
    seeded_hash_init();
    return xcalloc(1, sizeof(struct uncached));
}

void uncached_free(struct uncached *uncached)
{
    free(uncached);
}

/* Returns a question's hash. Nothing else tells two questions apart: they share one once in 2^64.
 */
static uint64_t uncached_hash_of(const struct cache_key *key)
{
    uint8_t bytes[1 + DNAME_MAX + 2 + 2 + 1 + 4];
    struct writer w = writer_of(bytes, sizeof(bytes));
    writer_u8(&w, 0);
    writer_bytes(&w, key->name.wire, key->name.len);
    writer_u16(&w, key->type);
    writer_u16(&w, key->qclass);
    writer_u8(&w, (uint8_t)(key->dnssec_ok << 1 | key->checking_disabled));
    writer_u32(&w, key->zone_serial);
    uint32_t low = seeded_hash(slice_of(bytes, w.pos));
    bytes[0] = 1; /* a second hash of the same */
    return (uint64_t)seeded_hash(slice_of(bytes, w.pos)) << 32 | low;
}

void uncached_note(struct uncached *uncached, const struct cache_key *key,
                   const struct fetcher_uncached *what)
{
    struct entry entry = {.question = uncached_hash_of(key),
                          .verdict = what->verdict,
                          .at_ms = (uint64_t)what->at_ms};
    uint64_t words[WORDS];
    struct slot *slot = &uncached->slots[entry.question % FETCHER_UNCACHED_MAX];
    memcpy(entry.nameserver, &what->nameserver, sizeof(what->nameserver));
    memcpy(words, &entry, sizeof(words));
    uint64_t sequence = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
    atomic_store_explicit(&slot->sequence, sequence + 1, memory_order_relaxed);
    for (size_t i = 0; i < WORDS; i++) { /* each after the odd sequence */
        atomic_store_explicit(&slot->words[i], words[i], memory_order_release);
    }
    atomic_store_explicit(&slot->sequence, sequence + 2, memory_order_release);
}

bool uncached_find(const struct uncached *uncached, const struct cache_key *key,
                   struct fetcher_uncached *ret)
{
    uint64_t question = uncached_hash_of(key), words[WORDS];
    struct entry entry;
    const struct slot *slot = &uncached->slots[question % FETCHER_UNCACHED_MAX];
    uint64_t before = atomic_load_explicit(&slot->sequence, memory_order_acquire);
    for (size_t i = 0; i < WORDS; i++) {
        words[i] = atomic_load_explicit(&slot->words[i], memory_order_acquire);
    }
    uint64_t after = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
    memcpy(&entry, words, sizeof(entry));
    if (before == 0 || before % 2 || before != after || entry.question != question) {
        return false;
    }
    ret->verdict = (enum cache_verdict)entry.verdict;
    ret->at_ms = (int64_t)entry.at_ms;
    memcpy(&ret->nameserver, entry.nameserver, sizeof(ret->nameserver));
    return true;
}
