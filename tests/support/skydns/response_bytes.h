/* Calls that take a parsed response, for tests that have its bytes. */
#ifndef TESTS_SUPPORT_SKYDNS_RESPONSE_BYTES_H
#define TESTS_SUPPORT_SKYDNS_RESPONSE_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "skydns/engine/engine.h"
#include "skydns/external/cache.h"
#include "skydns/wire/response_parse.h"

static inline enum cache_verdict cache_put_bytes(struct cache *cache, const struct cache_key *key,
                                                 const uint8_t *bytes, size_t len,
                                                 const struct addr *nameserver,
                                                 const struct cache_limits *limits, int64_t now_ms)
{
    struct parsed_response response;
    response_parse(bytes, len, &response);
    enum cache_verdict verdict = cache_put(cache, key, &response, nameserver, limits, now_ms);
    response_parse_fini(&response);
    return verdict;
}

static inline bool engine_forwarded_bytes(struct engine *engine, const struct engine_query *query,
                                          const uint8_t *bytes, size_t len,
                                          struct response *response)
{
    struct parsed_response parsed;
    response_parse(bytes, len, &parsed);
    bool is_forwarded = engine_forwarded(engine, query, &parsed, response);
    response_parse_fini(&parsed);
    return is_forwarded;
}

#endif
