#include "skydns/engine/rate_limit.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"

enum { SETS = RATE_LIMIT_CLIENTS / RATE_LIMIT_WAYS, LINE = 64 };
_Static_assert((SETS & (SETS - 1)) == 0, "the hash is masked");

/* Races in one set after which the query passes. */
enum { TRIES = 8 };

/* Marks, in the lowest bit of a time, the next verdict over the limit: dropped if it is set. */
#define IS_DROP_NEXT UINT64_C(1)

struct entry {
    _Atomic uint64_t client;  /* 0: free */
    _Atomic uint64_t paid_ns; /* monotonic, even, plus IS_DROP_NEXT; in the past: idle */
};

struct set {
    struct entry ways[RATE_LIMIT_WAYS];
};
_Static_assert(sizeof(struct set) == LINE, "one cache miss for each query");

struct rate_limit {
    void *memory;
    struct set *sets; /* in `memory`, at the start of a cache line */
};

/* Makes a limiter. calloc leaves such a large block to the kernel, which provides zeroed pages when
 * they are first used. */
struct rate_limit *rate_limit_new(void)
{
    struct rate_limit *limit = xcalloc(1, sizeof(*limit));
    limit->memory = xcalloc(1, SETS * sizeof(struct set) + LINE);
    limit->sets = (void *)(((uintptr_t)limit->memory + LINE - 1) & ~(uintptr_t)(LINE - 1));
    return limit;
}

void rate_limit_free(struct rate_limit *limit)
{
    if (limit) {
        free(limit->memory);
        free(limit);
    }
}

/* Returns the family, then the address or its first seven bytes: unequal for unequal clients. */
uint64_t rate_limit_client(const struct addr *addr)
{
    const struct ip ip = addr_ip(addr);
    uint64_t client = ip.family_bytes == 4 ? 4 : 6;
    size_t count = ip.family_bytes == 4 ? 4 : 7;
    for (size_t i = 0; i < count; i++) {
        client = client << 8 | ip.bytes[i];
    }
    return client;
}

static struct set *set_of(const struct rate_limit *limit, uint64_t client)
{
    uint32_t hash = seeded_hash(slice_of(&client, sizeof(client)));
    return &limit->sets[hash & (SETS - 1)];
}

void rate_limit_prepare(const struct rate_limit *limit, uint64_t client)
{
    __builtin_prefetch(set_of(limit, client), 1);
}

/* ---- Entries ---- */

/* Clears an entry's debt. An idle one's time in the past is as good as any other. If another
 * thread is charging the entry meanwhile, that query is free. */
static void rate_limit_forget(struct entry *entry, uint64_t now_ns)
{
    if (atomic_load_explicit(&entry->paid_ns, memory_order_relaxed) > now_ns) {
        atomic_store_explicit(&entry->paid_ns, now_ns, memory_order_relaxed);
    }
}

/* Returns the client's entry, or another that becomes its own. NULL: too many other clients want
 * one. */
static struct entry *rate_limit_find(struct set *set, uint64_t client, uint64_t now_ns)
{
    for (unsigned tries = 0; tries < TRIES; tries++) {
        struct entry *victim = NULL;
        uint64_t victim_ns = UINT64_MAX, victims_client = 0;
        for (size_t i = 0; i < RATE_LIMIT_WAYS; i++) {
            struct entry *entry = &set->ways[i];
            uint64_t owner = atomic_load_explicit(&entry->client, memory_order_relaxed);
            if (owner == client) {
                return entry;
            }
            uint64_t paid_ns = atomic_load_explicit(&entry->paid_ns, memory_order_relaxed);
            if (paid_ns < victim_ns) {
                victim = entry;
                victim_ns = paid_ns;
                victims_client = owner;
            }
        }
        if (atomic_compare_exchange_strong_explicit(&victim->client, &victims_client, client,
                                                    memory_order_relaxed, memory_order_relaxed)) {
            rate_limit_forget(victim, now_ns);
            return victim;
        }
    }
    return NULL;
}

static uint64_t cost_ns_of(const struct rate *rate)
{
    return UINT64_C(1000000000) / rate->per_s & ~IS_DROP_NEXT;
}

static enum rate_verdict rate_limit_charge(struct entry *entry, const struct rate *rate,
                                           uint64_t now_ns)
{
    const uint64_t cost_ns = cost_ns_of(rate);
    const uint64_t ahead_max_ns = (uint64_t)rate->burst * cost_ns;
    uint64_t old = atomic_load_explicit(&entry->paid_ns, memory_order_relaxed), new;
    bool is_over;
    do {
        uint64_t paid_ns = old & ~IS_DROP_NEXT;
        uint64_t ahead_ns = paid_ns > now_ns ? paid_ns - now_ns : 0;
        uint64_t next = ahead_ns > 0 ? old & IS_DROP_NEXT : 0;
        if (ahead_ns > ahead_max_ns) { /* the rate was another one */
            ahead_ns = ahead_max_ns;
        }
        is_over = ahead_ns + cost_ns > ahead_max_ns;
        new = is_over ? (now_ns + ahead_ns) | (next ^ IS_DROP_NEXT)
                      : (now_ns + ahead_ns + cost_ns) | next;
    } while (!atomic_compare_exchange_weak_explicit(&entry->paid_ns, &old, new,
                                                    memory_order_relaxed, memory_order_relaxed));
    if (!is_over) {
        return RATE_PASS;
    }
    return new &IS_DROP_NEXT ? RATE_TRUNCATE : RATE_DROP;
}

enum rate_verdict rate_limit_take(struct rate_limit *limit, uint64_t client,
                                  const struct rate *rate, int64_t now_us)
{
    uint64_t now_ns = (uint64_t)now_us * 1000;
    struct entry *entry = rate_limit_find(set_of(limit, client), client, now_ns);
    return entry ? rate_limit_charge(entry, rate, now_ns) : RATE_PASS;
}

uint32_t rate_limit_left(const struct rate_limit *limit, uint64_t client, const struct rate *rate,
                         int64_t now_us)
{
    const struct set *set = set_of(limit, client);
    uint64_t now_ns = (uint64_t)now_us * 1000, ahead_ns = 0;
    for (size_t i = 0; i < RATE_LIMIT_WAYS; i++) {
        const struct entry *entry = &set->ways[i];
        uint64_t paid_ns =
            atomic_load_explicit(&entry->paid_ns, memory_order_relaxed) & ~IS_DROP_NEXT;
        if (atomic_load_explicit(&entry->client, memory_order_relaxed) == client &&
            paid_ns > now_ns) {
            ahead_ns = paid_ns - now_ns;
        }
    }
    uint64_t max_ns = (uint64_t)rate->burst * cost_ns_of(rate);
    return ahead_ns < max_ns ? (uint32_t)((max_ns - ahead_ns) / cost_ns_of(rate)) : 0;
}
