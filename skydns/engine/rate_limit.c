#include "skydns/engine/rate_limit.h"

#include <stdlib.h>

#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"
#include "skydns/engine/rate_table_internal.h"

/* Marks, in the lowest bit of a time, the next verdict over the limit: dropped if it is set. */
#define IS_DROP_NEXT UINT64_C(1)

/* Words are times, paid_ns: monotonic, even, plus IS_DROP_NEXT; in the past: idle. */
struct rate_limit {
    struct rate_table table;
};

struct rate_limit *rate_limit_new(void)
{
    struct rate_limit *limit = xcalloc(1, sizeof(*limit));
    rate_table_init(&limit->table, RATE_LIMIT_CLIENTS);
    return limit;
}

void rate_limit_free(struct rate_limit *limit)
{
    if (limit) {
        rate_table_fini(&limit->table);
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

static uint32_t rate_limit_hash(uint64_t client)
{
    return seeded_hash(slice_of(&client, sizeof(client)));
}

void rate_limit_prepare(const struct rate_limit *limit, uint64_t client)
{
    rate_table_prepare(&limit->table, rate_limit_hash(client));
}

static uint64_t cost_ns_of(const struct rate *rate)
{
    return UINT64_C(1000000000) / rate->per_s & ~IS_DROP_NEXT;
}

static enum rate_verdict rate_limit_charge(struct rate_entry *entry, const struct rate *rate,
                                           uint64_t now_ns)
{
    const uint64_t cost_ns = cost_ns_of(rate);
    const uint64_t ahead_max_ns = (uint64_t)rate->burst * cost_ns;
    uint64_t old = atomic_load_explicit(&entry->word, memory_order_relaxed), new;
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
    } while (!atomic_compare_exchange_weak_explicit(&entry->word, &old, new, memory_order_relaxed,
                                                    memory_order_relaxed));
    if (!is_over) {
        return RATE_PASS;
    }
    return new &IS_DROP_NEXT ? RATE_TRUNCATE : RATE_DROP;
}

enum rate_verdict rate_limit_take(struct rate_limit *limit, uint64_t client,
                                  const struct rate *rate, int64_t now_us)
{
    uint64_t now_ns = (uint64_t)now_us * 1000;
    struct rate_entry *entry =
        rate_table_find(&limit->table, rate_limit_hash(client), client, now_ns, 0);
    return entry ? rate_limit_charge(entry, rate, now_ns) : RATE_PASS;
}

uint32_t rate_limit_left(const struct rate_limit *limit, uint64_t client, const struct rate *rate,
                         int64_t now_us)
{
    uint64_t now_ns = (uint64_t)now_us * 1000;
    uint64_t paid_ns =
        rate_table_word(&limit->table, rate_limit_hash(client), client) & ~IS_DROP_NEXT;
    uint64_t ahead_ns = paid_ns > now_ns ? paid_ns - now_ns : 0;
    uint64_t max_ns = (uint64_t)rate->burst * cost_ns_of(rate);
    return ahead_ns < max_ns ? (uint32_t)((max_ns - ahead_ns) / cost_ns_of(rate)) : 0;
}
