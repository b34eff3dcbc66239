/* An engine that knows of other domains: nameservers, stub zones and a cache, which tests fill with
 * replies. */
#ifndef TESTS_UNIT_SKYDNS_ANSWER_FOREIGN_BED_H
#define TESTS_UNIT_SKYDNS_ANSWER_FOREIGN_BED_H

#include <stdlib.h>
#include <string.h>

#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "skydns/external/cache.h"
#include "skydns/external/cache_counts.h"
#include "skydns/external/zone_table.h"
#include "skydns/wire/question.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/skydns/response_bytes.h"

enum { BED_START_MS = 1000000, BED_TTL_MAX_S = 3600, BED_STALE_MS = 24 * 3600 * 1000 };

struct external_bed {
    struct fixture *f;
    struct zone_table *zones;
    struct cache *cache;
    struct cache_tally *tally;
};

static inline void bed_zone(struct forward_zone *zone, const char *name, size_t server_count)
{
    struct ip ip = {.family_bytes = 4, .bytes = {127, 0, 0, 1}};
    *zone = (struct forward_zone){.name = dname_from(name), .server_count = server_count};
    zone->servers[0] = nameserver_at(addr_of_ip(&ip, 53));
}

/* Stub zones outside and below the domain, one of reverse names, and one without nameservers. */
static inline struct external_bed bed_new(const struct fixture_key *keys, size_t count)
{
    struct external_bed b = {
        .f = fixture_new(keys, count), .cache = cache_new(1000), .tally = cache_tally_new()};
    struct forward_zone zones[5];
    bed_zone(&zones[0], ".", 1);
    bed_zone(&zones[1], "acme.test.", 1);
    bed_zone(&zones[2], "stub.cluster.local.", 1);
    bed_zone(&zones[3], "2.0.192.in-addr.arpa.", 1);
    bed_zone(&zones[4], "empty.test.", 0);
    b.zones = zone_table_new(zones, 5, NULL);
    struct engine_config *config = &b.f->config;
    config->zones_of_others = b.zones;
    config->cache = b.cache;
    config->cache_limits = (struct cache_limits){BED_TTL_MAX_S, BED_STALE_MS};
    config->cache_tally = b.tally;
    config->allows_all = true;
    engine_free(b.f->engine); /* so that the new one's counts are in the tally */
    b.f->engine = engine_new(config);
    memcpy(&b.f->known, config, sizeof(*config));
    b.f->now_ms = BED_START_MS;
    return b;
}

static inline void bed_free(struct external_bed *b)
{
    fixture_free(b->f);
    zone_table_unref(b->zones);
    cache_unref(b->cache);
    cache_tally_free(b->tally);
}

/* ---- A nameserver's reply ---- */

struct bed_reply {
    uint8_t wire[DNS_MESSAGE_MAX];
    struct writer w;
};

/* Begins the reply to fixture_query's question; `flags` as in the header. */
static inline void reply_begin(struct bed_reply *r, struct external_bed *b, const char *question,
                               uint16_t flags)
{
    struct question q;
    (void)fixture_query(b->f, question);
    if (question_parse(b->f->query, b->f->query_len, &q) != QUESTION_OK) {
        abort();
    }
    r->w = writer_of(r->wire, sizeof(r->wire));
    writer_u16(&r->w, q.id);
    writer_u16(&r->w, flags);
    writer_u16(&r->w, 1);
    writer_u32(&r->w, 0);
    writer_u16(&r->w, 0);
    writer_bytes(&r->w, q.name.wire, q.name.len);
    writer_u16(&r->w, q.type);
    writer_u16(&r->w, q.qclass);
}

/* section: 1 answer, 2 authority, 3 additional; in this order. */
static inline void reply_add(struct bed_reply *r, unsigned section, const char *owner,
                             uint16_t type, uint32_t ttl_s, const void *data, size_t len)
{
    struct dname name = dname_from(owner);
    uint8_t *count = r->wire + 4 + 2 * section;
    unsigned n = (unsigned)(count[0] << 8 | count[1]) + 1;
    count[0] = (uint8_t)(n >> 8);
    count[1] = (uint8_t)n;
    writer_bytes(&r->w, name.wire, name.len);
    writer_u16(&r->w, type);
    writer_u16(&r->w, DNS_CLASS_IN);
    writer_u32(&r->w, ttl_s);
    writer_u16(&r->w, (uint16_t)len);
    writer_bytes(&r->w, data, len);
    if (r->w.failed) {
        abort();
    }
}

static inline void reply_add_a(struct bed_reply *r, const char *owner, uint32_t ttl_s, unsigned n)
{
    const uint8_t data[] = {192, 0, (uint8_t)(n >> 8), (uint8_t)n};
    reply_add(r, 1, owner, DNS_TYPE_A, ttl_s, data, sizeof(data));
}

static inline void reply_add_cname(struct bed_reply *r, const char *owner, uint32_t ttl_s,
                                   const char *target)
{
    struct dname name = dname_from(target);
    reply_add(r, 1, owner, DNS_TYPE_CNAME, ttl_s, name.wire, name.len);
}

/* Minimum 60. */
static inline void reply_add_soa(struct bed_reply *r, const char *owner, uint32_t ttl_s)
{
    static const uint8_t data[] = {0, 0, [21] = 60};
    reply_add(r, 2, owner, DNS_TYPE_SOA, ttl_s, data, sizeof(data));
}

static inline struct cache_key bed_key(struct external_bed *b, const char *question)
{
    struct question q;
    (void)fixture_query(b->f, question);
    if (question_parse(b->f->query, b->f->query_len, &q) != QUESTION_OK) {
        abort();
    }
    struct cache_key key = {.name = q.name,
                            .type = q.type,
                            .qclass = q.qclass,
                            .dnssec_ok = q.dnssec_ok,
                            .checking_disabled = q.checking_disabled};
    dname_lower(&key.name);
    key.zone_serial = zone_table_find_for(b->zones, &key.name, key.type)->serial;
    return key;
}

/* Keeps the reply now. */
static inline enum cache_verdict bed_put(struct external_bed *b, const char *question,
                                         const struct bed_reply *r)
{
    static const struct addr nameserver;
    struct cache_key key = bed_key(b, question);
    return cache_put_bytes(b->cache, &key, r->wire, r->w.pos, &nameserver,
                           &b->f->config.cache_limits, b->f->now_ms);
}

/* Keeps `count` addresses of a name. */
static inline void bed_put_addresses(struct external_bed *b, const char *question,
                                     const char *owner, uint32_t ttl_s, unsigned count)
{
    static struct bed_reply r;
    reply_begin(&r, b, question, 0x8180);
    for (unsigned i = 0; i < count; i++) {
        reply_add_a(&r, owner, ttl_s, i + 1);
    }
    if (bed_put(b, question, &r) != CACHE_HIT) {
        abort();
    }
}

static inline void bed_fail(struct external_bed *b, const char *question)
{
    struct cache_key key = bed_key(b, question);
    cache_fail(b->cache, &key, CACHE_PLAIN, b->f->now_ms);
}

static inline struct cache_counts bed_counts(const struct external_bed *b)
{
    struct cache_counts sums;
    cache_tally_sum(b->tally, &sums);
    return sums;
}

static inline uint64_t bed_misses(const struct external_bed *b)
{
    struct cache_counts sums = bed_counts(b);
    return counter_get(&sums.misses);
}

#endif
