#include "skydns/external/cache_entry_internal.h"

#include <endian.h>
#include <string.h>

#include "common/base/seeded_hash.h"

enum {
    WORD = sizeof(uint64_t),
    FIRST_WORDS = ENTRY_DATA_END - ENTRY_DATA,
    LATER_WORDS = CHUNK_WORDS - CHUNK_REST,
    IS_REPLY = 1, /* bits of ENTRY_KIND */
    IS_NEGATIVE = 2,
    IS_AUTHENTIC = 4,
};

static size_t words_of(size_t bytes)
{
    return (bytes + WORD - 1) / WORD;
}

/* Returns a word of bytes, of which fewer than eight may be left: the rest is 0. */
static uint64_t cache_entry_load_word(const uint8_t *bytes, size_t left)
{
    uint64_t word = 0;
    memcpy(&word, bytes, left < WORD ? left : WORD);
    return word;
}

/* Returns such a word of a name, without a copy of unknown length. */
static uint64_t name_word(const struct dname *name, size_t at)
{
    size_t left = name->len - at;
    uint64_t word;
    const uint8_t *bytes = &name->wire[at];
    if (at + WORD > DNAME_MAX) {
        return cache_entry_load_word(bytes, left);
    }
    memcpy(&word, bytes, WORD);
    return left < WORD ? le64toh(htole64(word) & ((UINT64_C(1) << 8 * left) - 1)) : word;
}

struct entry_key entry_key_of(const struct cache_key *key)
{
    enum { IS_CD = 1 << 8, IS_DO = 1 << 9 };
    uint64_t question = (uint64_t)key->type << 48 | (uint64_t)key->qclass << 32 |
                        (key->dnssec_ok ? IS_DO : 0u) | (key->checking_disabled ? IS_CD : 0u) |
                        key->name.len;
    uint32_t hash = key->hash;
    if (hash == 0) {
        uint64_t numbers[] = {seeded_hash(slice_of(key->name.wire, key->name.len)), question,
                              key->zone_serial};
        hash = seeded_hash(slice_of(numbers, sizeof(numbers)));
    }
    return (struct entry_key){
        .hash = hash,
        .question = question,
        .zone = (uint64_t)hash << 32 | key->zone_serial,
        .name_words = words_of(key->name.len),
        .name = &key->name,
    };
}

struct entry_key entry_key_of_failure(const struct cache_key *key, enum cache_asking asking)
{
    enum { ASKING_SHIFT = 10 }; /* beside IS_DO */
    struct entry_key entry_key = entry_key_of(key);
    if (asking != CACHE_PLAIN) {
        const uint32_t numbers[] = {entry_key.hash, (uint32_t)asking};
        entry_key.hash = seeded_hash(slice_of(numbers, sizeof(numbers)));
        entry_key.question |= (uint64_t)asking << ASKING_SHIFT;
        entry_key.zone = (uint64_t)entry_key.hash << 32 | key->zone_serial;
    }
    return entry_key;
}

size_t entry_chunks(size_t name_len, size_t records_len)
{
    size_t words = words_of(name_len) + words_of(records_len);
    return words <= FIRST_WORDS ? 1 : 1 + (words - FIRST_WORDS + LATER_WORDS - 1) / LATER_WORDS;
}

/* ---- Data, word by word ---- */

struct place {
    const struct cache_chunks *chunks;
    _Atomic uint64_t *words;
    size_t at, end; /* in this chunk */
};

/* Returns the next word. A reader that is too late may find no chunk's number: then it reads the
 * same chunk again, for nothing. */
static inline _Atomic uint64_t *cache_entry_step(struct place *place)
{
    if (place->at == place->end) {
        uint64_t next = chunk_get(&place->words[CHUNK_NEXT]);
        if (next != 0 && next <= place->chunks->count) {
            place->words = chunk_words(place->chunks, (uint32_t)next);
        }
        place->at = CHUNK_REST;
        place->end = CHUNK_WORDS;
    }
    return &place->words[place->at++];
}

static void cache_entry_skip(struct place *place, size_t count)
{
    size_t here = place->end - place->at;
    here = count < here ? count : here;
    place->at += here;
    for (count -= here; count > 0; count--) {
        (void)cache_entry_step(place);
    }
}

static void cache_entry_write_bytes(struct place *place, const uint8_t *bytes, size_t len)
{
    for (size_t at = 0; at < len; at += WORD) {
        chunk_set(cache_entry_step(place), cache_entry_load_word(bytes + at, len - at));
    }
}

/* ---- Writing ---- */

static void write_peer(_Atomic uint64_t *words, const struct addr *peer)
{
    uint64_t ip[2] = {0}, scope = 0;
    if (peer->sa.sa_family == AF_INET) {
        memcpy(ip, &peer->v4.sin_addr, sizeof(peer->v4.sin_addr));
    } else if (peer->sa.sa_family == AF_INET6) {
        memcpy(ip, &peer->v6.sin6_addr, sizeof(peer->v6.sin6_addr));
        scope = peer->v6.sin6_scope_id;
    }
    uint64_t port = peer->sa.sa_family == AF_UNSPEC ? 0 : addr_port(peer);
    chunk_set(&words[ENTRY_PEER], scope << 32 | port << 16 | peer->sa.sa_family);
    chunk_set(&words[ENTRY_PEER_IP], ip[0]);
    chunk_set(&words[ENTRY_PEER_IP_END], ip[1]);
}

static void write_reply(_Atomic uint64_t *words, const struct entry_reply *reply)
{
    static const struct addr nobody;
    static const struct cached_reply nothing;
    const struct cached_reply *cached = reply->cached ? reply->cached : &nothing;
    unsigned bits = (reply->cached ? IS_REPLY : 0) | (cached->is_negative ? IS_NEGATIVE : 0) |
                    (cached->is_authentic ? IS_AUTHENTIC : 0);
    chunk_set(&words[ENTRY_CACHED_AT], (uint64_t)reply->cached_at_ms);
    chunk_set(&words[ENTRY_KIND],
              (uint64_t)cached->ttl_s << 32 | (unsigned)cached->rcode << 8 | bits);
    chunk_set(&words[ENTRY_COUNTS], (uint64_t)cached->answers << 48 |
                                        (uint64_t)cached->authorities << 32 |
                                        (uint64_t)cached->run_at << 16 | cached->run_count);
    chunk_set(&words[ENTRY_LENGTHS], (uint64_t)cached->records_at << 48 |
                                         (uint64_t)cached->run_size << 32 |
                                         (uint64_t)cached->answers_len << 16 | cached->len);
    write_peer(words, reply->cached ? reply->nameserver : &nobody);
}

void entry_write(const struct cache_chunks *chunks, uint32_t chunk, const struct entry_key *key,
                 const struct entry_reply *reply)
{
    _Atomic uint64_t *words = chunk_words(chunks, chunk);
    uint64_t writing = entry_sequence(words) | 1;
    chunk_set(&words[CHUNK_SEQUENCE], writing);
    chunk_set(&words[ENTRY_QUESTION], key->question);
    chunk_set(&words[ENTRY_ZONE], key->zone);
    write_reply(words, reply);
    chunk_set(&words[ENTRY_FAILURE], 0);
    /* The sequence in the word tells a late reader that this is another entry. */
    chunk_set(&words[ENTRY_USE], (writing + 1) << 32);
    struct place place = {chunks, words, ENTRY_DATA, ENTRY_DATA_END};
    cache_entry_write_bytes(&place, key->name->wire, key->name->len);
    cache_entry_write_bytes(&place, reply->records, reply->cached ? reply->cached->len : 0);
    chunk_set(&words[CHUNK_SEQUENCE], writing + 1);
}

void entry_drop(const struct cache_chunks *chunks, uint32_t chunk)
{
    _Atomic uint64_t *sequence = &chunk_words(chunks, chunk)[CHUNK_SEQUENCE];
    chunk_set(sequence, chunk_get(sequence) | 1);
}

/* ---- Reading ---- */

bool entry_has_key(const struct cache_chunks *chunks, _Atomic uint64_t *words,
                   const struct entry_key *key)
{
    if (chunk_get(&words[ENTRY_QUESTION]) != key->question ||
        chunk_get(&words[ENTRY_ZONE]) != key->zone) {
        return false;
    }
    struct place place = {chunks, words, ENTRY_DATA, ENTRY_DATA_END};
    for (size_t at = 0; at < key->name->len; at += WORD) {
        if (chunk_get(cache_entry_step(&place)) != name_word(key->name, at)) {
            return false;
        }
    }
    return true;
}

void entry_read_name(const struct cache_chunks *chunks, uint32_t chunk, struct dname *ret_name)
{
    _Atomic uint64_t *words = chunk_words(chunks, chunk);
    struct place place = {chunks, words, ENTRY_DATA, ENTRY_DATA_END};
    ret_name->len = (uint8_t)chunk_get(&words[ENTRY_QUESTION]);
    for (size_t at = 0; at < ret_name->len; at += WORD) {
        const uint64_t word = chunk_get(cache_entry_step(&place));
        const size_t left = ret_name->len - at;
        memcpy(ret_name->wire + at, &word, left < WORD ? left : WORD);
    }
}

bool entry_read_reply(_Atomic uint64_t *words, struct cached_reply *ret_cached,
                      int64_t *ret_cached_at_ms)
{
    uint64_t kind = chunk_get(&words[ENTRY_KIND]);
    if (!(kind & IS_REPLY)) {
        return false;
    }
    uint64_t counts = chunk_get(&words[ENTRY_COUNTS]), lengths = chunk_get(&words[ENTRY_LENGTHS]);
    *ret_cached_at_ms = (int64_t)chunk_get(&words[ENTRY_CACHED_AT]);
    *ret_cached = (struct cached_reply){
        .is_negative = kind & IS_NEGATIVE,
        .is_authentic = kind & IS_AUTHENTIC,
        .rcode = (uint8_t)(kind >> 8),
        .ttl_s = (uint32_t)(kind >> 32),
        .answers = (uint16_t)(counts >> 48),
        .authorities = (uint16_t)(counts >> 32),
        .run_at = (uint16_t)(counts >> 16),
        .run_count = (uint16_t)counts,
        .records_at = (uint16_t)(lengths >> 48),
        .run_size = (uint16_t)(lengths >> 32),
        .answers_len = (uint16_t)(lengths >> 16),
        .len = (uint16_t)lengths,
    };
    return true;
}

struct addr entry_read_nameserver(_Atomic uint64_t *words)
{
    uint64_t peer = chunk_get(&words[ENTRY_PEER]);
    uint64_t bytes[] = {chunk_get(&words[ENTRY_PEER_IP]), chunk_get(&words[ENTRY_PEER_IP_END])};
    uint16_t family = (uint16_t)peer;
    struct ip ip = {.family_bytes = family == AF_INET ? 4 : family == AF_INET6 ? 16 : 0};
    memcpy(ip.bytes, bytes, ip.family_bytes);
    struct addr addr = addr_of_ip(&ip, (uint16_t)(peer >> 16));
    if (family == AF_INET6) {
        addr.v6.sin6_scope_id = (uint32_t)(peer >> 32);
    }
    return addr;
}

void entry_read_records(const struct cache_chunks *chunks, _Atomic uint64_t *words,
                        const struct entry_key *key, uint8_t *records, size_t len)
{
    struct place place = {chunks, words, ENTRY_DATA, ENTRY_DATA_END};
    cache_entry_skip(&place, key->name_words);
    size_t at = 0;
    for (; len - at >= WORD; at += WORD) {
        uint64_t word = chunk_get(cache_entry_step(&place));
        memcpy(records + at, &word, WORD);
    }
    if (at < len) {
        uint64_t word = chunk_get(cache_entry_step(&place));
        memcpy(records + at, &word, len - at);
    }
}

/* ---- Showing ---- */

size_t entry_copied(const struct cached_reply *cached, size_t room)
{
    const size_t answers = cached->answers_len < room ? cached->answers_len : room;
    return cached->len <= room ? cached->len : answers;
}

/* Returns where the name ends. On the path of every hit, it trusts the records, which
 * cache_image_writer wrote. */
static size_t name_end(const uint8_t *records, size_t len, size_t at)
{
    while (at < len && records[at] != 0) {
        if (records[at] >= 0xc0) {
            return at + 2;
        }
        at += records[at] + 1u;
    }
    return at + 1;
}

static uint32_t shown_ttl_s(uint32_t ttl_s, const struct entry_age *age)
{
    if (age->is_stale) {
        return CACHE_STALE_TTL_S;
    }
    ttl_s = ttl_s < age->ttl_max_s ? ttl_s : age->ttl_max_s;
    return ttl_s > age->cached_s ? ttl_s - age->cached_s : 1;
}

/* Counts the whole records, all but perhaps the last, in *ret_count. Returns where they end. */
static size_t age_records(uint8_t *records, size_t len, const struct entry_age *age,
                          unsigned *ret_count)
{
    enum { TTL_AT = 4, RDATA_LEN_AT = 8, RDATA_AT = 10 }; /* after the owner */
    size_t at = 0;
    for (*ret_count = 0; at < len; ++*ret_count) {
        const size_t head = name_end(records, len, at);
        if (head + RDATA_AT > len) {
            return at;
        }
        uint8_t *ttl = records + head + TTL_AT;
        const size_t end =
            head + RDATA_AT +
            ((size_t)records[head + RDATA_LEN_AT] << 8 | records[head + RDATA_LEN_AT + 1]);
        if (end > len) {
            return at;
        }
        uint32_t ttl_s = shown_ttl_s(
            (uint32_t)ttl[0] << 24 | (uint32_t)ttl[1] << 16 | (uint32_t)ttl[2] << 8 | ttl[3], age);
        ttl[0] = (uint8_t)(ttl_s >> 24);
        ttl[1] = (uint8_t)(ttl_s >> 16);
        ttl[2] = (uint8_t)(ttl_s >> 8);
        ttl[3] = (uint8_t)ttl_s;
        at = end;
    }
    return at;
}

/* Shuffles the records whole, by Fisher and Yates with a xorshift32. Of thousands, only so many
 * first ones are drawn, from all: clients try a few, and no datagram has more. */
static void shuffle_addresses(const struct cached_reply *cached, uint8_t *records, size_t len,
                              uint32_t random)
{
    enum { OWNER_MAX = DNAME_MAX, REST = 10 + 16, DRAWN_MAX = 256 };
    uint8_t held[OWNER_MAX + REST];
    uint8_t *next = records + cached->run_at;
    const size_t size = cached->run_size;
    const size_t shown = size > 0 && len > cached->run_at ? (len - cached->run_at) / size : 0;
    size_t left = shown < cached->run_count ? shown : cached->run_count;
    for (unsigned i = 0; left > 1 && i < DRAWN_MAX && size <= sizeof(held); i++, left--) {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        uint8_t *drawn = next + (size_t)((uint64_t)random * left >> 32) * size;
        memcpy(held, drawn, size);
        memmove(drawn, next, size);
        memcpy(next, held, size);
        next += size;
    }
}

void entry_show(const struct cached_reply *cached, const struct entry_age *age, uint32_t shuffle,
                uint8_t *records, size_t len, struct cache_hit *hit)
{
    static const struct entry_age none = {.ttl_max_s = UINT32_MAX};
    const bool has_answers = len >= cached->answers_len;
    hit->shown_answers = cached->answers;
    hit->shown_len = (uint32_t)len;
    if (age || !has_answers) {
        unsigned count;
        hit->shown_len = (uint32_t)age_records(records, len, age ? age : &none, &count);
        hit->shown_answers = has_answers ? cached->answers : (uint16_t)count;
    }
    hit->shown_authorities = len == cached->len ? cached->authorities : 0;
    if (shuffle) {
        shuffle_addresses(cached, records, hit->shown_len, shuffle);
    }
}

void entry_describe(const struct cached_reply *cached, struct cache_hit *hit)
{
    hit->is_negative = cached->is_negative;
    hit->is_authentic = cached->is_authentic;
    hit->rcode = cached->rcode;
    hit->answers = cached->answers;
    hit->authorities = cached->authorities;
    hit->answers_len = cached->answers_len;
    hit->len = cached->len;
}
