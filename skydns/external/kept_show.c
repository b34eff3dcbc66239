/* Kept records as a client is to see them: kept_reply.h. */
#include <string.h>

#include "skydns/external/kept_reply.h"

size_t kept_reply_fits(const struct kept_reply *kept, size_t room)
{
    return kept->len <= room ? kept->len : kept->answers_len <= room ? kept->answers_len : 0;
}

/* Where the name ends. */
static size_t skip_name(const uint8_t *records, size_t len, size_t at)
{
    while (at < len && records[at] != 0) {
        if (records[at] >= 0xc0) {
            return at + 2;
        }
        at += records[at] + 1u;
    }
    return at + 1;
}

static uint32_t shown_ttl_s(uint32_t ttl_s, const struct kept_age *age)
{
    if (age->is_stale) {
        return CACHE_STALE_TTL_S;
    }
    ttl_s = ttl_s < age->ttl_max_s ? ttl_s : age->ttl_max_s;
    return ttl_s > age->kept_s ? ttl_s - age->kept_s : 1;
}

static void age_records(uint8_t *records, size_t len, const struct kept_age *age)
{
    enum { TTL_AT = 4, RDATA_LEN_AT = 8, RDATA_AT = 10 }; /* behind the owner */
    for (size_t at = 0; at < len;) {
        at = skip_name(records, len, at);
        if (at + RDATA_AT > len) {
            return; /* never: the records are ours */
        }
        uint8_t *ttl = records + at + TTL_AT;
        uint32_t ttl_s = shown_ttl_s(
            (uint32_t)ttl[0] << 24 | (uint32_t)ttl[1] << 16 | (uint32_t)ttl[2] << 8 | ttl[3], age);
        ttl[0] = (uint8_t)(ttl_s >> 24);
        ttl[1] = (uint8_t)(ttl_s >> 16);
        ttl[2] = (uint8_t)(ttl_s >> 8);
        ttl[3] = (uint8_t)ttl_s;
        at += RDATA_AT + ((size_t)records[at + RDATA_LEN_AT] << 8 | records[at + RDATA_LEN_AT + 1]);
    }
}

/* Fisher and Yates, with a xorshift32; record by record, TTLs and all. */
static void shuffle_addresses(const struct kept_reply *kept, uint8_t *records, uint32_t random)
{
    enum { OWNER_MAX = DNAME_MAX, REST = 10 + 16 };
    uint8_t held[OWNER_MAX + REST];
    uint8_t *run = records + kept->run_at;
    const size_t size = kept->run_size;
    for (uint32_t left = kept->run_count; left > 1 && size <= sizeof(held); left--) {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        size_t from = (size_t)((uint64_t)random * left >> 32);
        memcpy(held, run + from * size, size);
        memmove(run + from * size, run + (left - 1u) * size, size);
        memcpy(run + (left - 1u) * size, held, size);
    }
}

void kept_reply_show(const struct kept_reply *kept, const struct kept_age *age, uint32_t shuffle,
                     uint8_t *records, size_t len)
{
    size_t run_end = kept->run_at + (size_t)kept->run_size * kept->run_count;
    age_records(records, len, age);
    if (shuffle && run_end <= len) {
        shuffle_addresses(kept, records, shuffle);
    }
}

void kept_reply_describe(const struct kept_reply *kept, struct cache_hit *hit)
{
    hit->is_negative = kept->is_negative;
    hit->is_authentic = kept->is_authentic;
    hit->rcode = kept->rcode;
    hit->answers = kept->answers;
    hit->authorities = kept->authorities;
    hit->answers_len = kept->answers_len;
    hit->len = kept->len;
}
