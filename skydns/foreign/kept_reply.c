#include "skydns/foreign/kept_reply.h"

enum cache_verdict kept_reply_make(const struct cache_key *key, const uint8_t *reply, size_t len,
                                   uint32_t ttl_max_s, uint8_t *records,
                                   struct kept_reply *ret_kept)
{
    (void)key, (void)reply, (void)len, (void)ttl_max_s, (void)records, (void)ret_kept;
    return CACHE_NO_ANSWER;
}

void kept_reply_age(uint8_t *records, size_t len, const struct kept_age *age)
{
    (void)records, (void)len, (void)age;
}

void kept_reply_shuffle(const struct kept_reply *kept, uint8_t *records, uint32_t random)
{
    (void)kept, (void)records, (void)random;
}

enum cache_verdict kept_reply_first(const struct cache_key *key, const uint8_t *reply, size_t len,
                                    const struct addr *nameserver,
                                    const struct cache_limits *limits, uint32_t shuffle,
                                    uint8_t *records, size_t room, struct cache_hit *ret_hit)
{
    (void)key, (void)reply, (void)len, (void)nameserver, (void)limits, (void)shuffle;
    (void)records, (void)room;
    *ret_hit = (struct cache_hit){.state = CACHE_MISS};
    return CACHE_NO_ANSWER;
}
