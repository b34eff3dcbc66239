#include "skydns/foreign/cache.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/xalloc.h"

struct cache {
    atomic_uint references;
    size_t entries_max;
};

struct cache *cache_new(size_t entries)
{
    struct cache *cache = xcalloc(1, sizeof(*cache));
    atomic_init(&cache->references, 1);
    cache->entries_max = entries;
    return cache;
}

struct cache *cache_ref(struct cache *cache)
{
    if (cache) {
        atomic_fetch_add_explicit(&cache->references, 1, memory_order_relaxed);
    }
    return cache;
}

void cache_unref(struct cache *cache)
{
    if (cache && atomic_fetch_sub_explicit(&cache->references, 1, memory_order_acq_rel) == 1) {
        free(cache);
    }
}

void cache_read(struct cache *cache, const struct cache_key *key, const struct cache_limits *limits,
                int64_t now_ms, enum cache_use use, uint32_t shuffle, uint8_t *records, size_t room,
                struct cache_hit *ret_hit)
{
    (void)cache, (void)key, (void)limits, (void)now_ms, (void)use, (void)shuffle;
    (void)records, (void)room;
    *ret_hit = (struct cache_hit){.state = CACHE_MISS};
}

void cache_look_ahead(const struct cache *cache, const struct cache_key *key)
{
    (void)cache, (void)key;
}

enum cache_verdict cache_put(struct cache *cache, const struct cache_key *key, const uint8_t *reply,
                             size_t len, const struct addr *nameserver,
                             const struct cache_limits *limits, int64_t now_ms)
{
    (void)cache, (void)key, (void)reply, (void)len, (void)nameserver, (void)limits, (void)now_ms;
    return CACHE_TOO_LARGE;
}

void cache_fail(struct cache *cache, const struct cache_key *key, int64_t now_ms)
{
    (void)cache, (void)key, (void)now_ms;
}

void cache_refresh_over(struct cache *cache, const struct cache_key *key)
{
    (void)cache, (void)key;
}

struct cache_figures cache_figures(const struct cache *cache)
{
    return (struct cache_figures){.entries_max = cache->entries_max};
}
