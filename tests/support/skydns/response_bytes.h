/* Calls that take a parsed response, for tests that have its bytes. */
#ifndef TESTS_SUPPORT_SKYDNS_RESPONSE_BYTES_H
#define TESTS_SUPPORT_SKYDNS_RESPONSE_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "skydns/engine/engine.h"
#include "skydns/external/cache.h"
#include "skydns/external/cache_image.h"
#include "skydns/wire/response_parse.h"

/* Returns what the first client gets; a miss if nothing is cached. */
static inline enum cache_verdict cached_first(const struct cache_key *key,
                                              const struct parsed_response *response,
                                              uint32_t ttl_max_s, uint32_t shuffle,
                                              uint8_t *records, size_t room,
                                              struct cache_hit *ret_hit)
{
    struct cache_image image = {0};
    enum cache_verdict verdict = cache_image_make(&image, key, response, ttl_max_s);
    *ret_hit = (struct cache_hit){.state = CACHE_MISS};
    if (verdict == CACHE_HIT) {
        cache_image_read(&image, shuffle, records, room, ret_hit);
    }
    cache_image_fini(&image);
    return verdict;
}

static inline enum cache_verdict cache_put_bytes(struct cache *cache, const struct cache_key *key,
                                                 const uint8_t *bytes, size_t len,
                                                 const struct addr *nameserver,
                                                 const struct cache_limits *limits, int64_t now_ms)
{
    struct parsed_response response;
    response_parse(bytes, len, &response);
    struct cache_image image = {0};
    (void)cache_image_make(&image, key, &response, limits->ttl_max_s);
    enum cache_verdict verdict = cache_put(cache, key, &image, nameserver, now_ms);
    cache_image_fini(&image);
    response_parse_fini(&response);
    return verdict;
}

static inline bool engine_forwarded_bytes(struct engine *engine, const struct engine_query *query,
                                          const uint8_t *bytes, size_t len,
                                          struct response *response)
{
    struct parsed_response parsed;
    response_parse(bytes, len, &parsed);
    struct cache_image image = {0};
    bool is_forwarded = engine_forwarded(engine, query, &parsed, &image, response);
    cache_image_fini(&image);
    response_parse_fini(&parsed);
    return is_forwarded;
}

#endif
