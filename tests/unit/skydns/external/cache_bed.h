/* A cache with replies about numbered names, for its tests. */
#ifndef TESTS_UNIT_SKYDNS_EXTERNAL_CACHE_BED_H
#define TESTS_UNIT_SKYDNS_EXTERNAL_CACHE_BED_H

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/base/seeded_hash.h"
#include "common/dns/dns.h"
#include "skydns/external/cache.h"
#include "tests/support/skydns/foreign_reply.h"
#include "tests/support/skydns/response_bytes.h"

static inline struct cache_key bed_key(unsigned number)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "n%u.test. A", number);
    return others_key(text);
}

/* `addresses` records whose addresses say which name and `version` this is. Returns the length. */
static inline size_t bed_reply(const struct cache_key *key, uint32_t version, unsigned addresses,
                               uint32_t ttl_s, uint8_t *wire, size_t size)
{
    struct writer w = writer_of(wire, size);
    writer_u16(&w, 1);
    writer_u16(&w, DNS_FLAG_QR);
    writer_u16(&w, 1);
    writer_u16(&w, (uint16_t)addresses);
    writer_u32(&w, 0);
    writer_bytes(&w, key->name.wire, key->name.len);
    writer_u16(&w, key->type);
    writer_u16(&w, key->qclass);
    for (unsigned i = 0; i < addresses; i++) {
        writer_u16(&w, 0xc000 | DNS_HEADER_SIZE);
        writer_u16(&w, key->type);
        writer_u16(&w, key->qclass);
        writer_u32(&w, ttl_s);
        writer_u16(&w, 4);
        writer_u32(&w, version);
    }
    assert(!w.failed);
    return w.pos;
}

static inline enum cache_verdict bed_put(struct cache *cache, const struct cache_key *key,
                                         uint32_t version, unsigned addresses, uint32_t ttl_s,
                                         int64_t now_ms)
{
    static uint8_t wire[65535];
    const struct cache_limits limits = {.ttl_max_s = 3600};
    const struct addr nameserver = external_nameserver();
    size_t len = bed_reply(key, version, addresses, ttl_s, wire, sizeof(wire));
    return cache_put_bytes(cache, key, wire, len, &nameserver, &limits, now_ms);
}

/* Whether the records are those of one version, whole. Returns it. */
static inline bool bed_is_whole(const uint8_t *records, const struct cache_hit *hit,
                                uint32_t *ret_version)
{
    enum { SIZE = 16, VERSION_AT = 12 };
    if (hit->len != hit->answers * (uint32_t)SIZE || hit->answers == 0) {
        return false;
    }
    memcpy(ret_version, records + VERSION_AT, sizeof(*ret_version));
    for (size_t i = 0; i < hit->answers; i++) {
        const uint8_t *record = records + i * SIZE;
        if (record[0] != 0xc0 || record[1] != DNS_HEADER_SIZE ||
            memcmp(record + VERSION_AT, ret_version, sizeof(*ret_version)) != 0) {
            return false;
        }
    }
    *ret_version = __builtin_bswap32(*ret_version);
    return true;
}

#endif
