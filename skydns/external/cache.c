#include "skydns/external/cache.h"

#include <stdlib.h>

#include "common/base/metrics.h"
#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"
#include "skydns/external/cache_entry_internal.h"
#include "skydns/external/cache_memory_internal.h"
#include "skydns/external/cache_zones_internal.h"

/* The queue in which an entry waits for its eviction. */
enum queue_kind {
    SMALL,  /* responses of up to SMALL_CHUNKS */
    LARGE,  /* longer responses */
    FAILED, /* failures of questions without a cached response */
    QUEUES,
};

enum {
    SMALL_CHUNKS = 4, /* an entry's average: all entries may have it */
    LARGE_SHARE = 4,  /* longer ones have a quarter of all chunks together */
    FAILED_SHARE = 8, /* an eighth as many as responses; a name takes two chunks at most */
    FAILED_MIN = 4,
    READ_TRIES = 3, /* finds an entry again that is replaced while it is read */
};

struct cache {
    atomic_uint references;
    size_t entries_max, failed_max, reply_chunks;
    struct cache_index index;
    struct cache_chunks chunks;
    struct cache_queue queues[QUEUES]; /* the filling thread's */
    struct cache_zones zones;
    struct counter entries, used_bytes, insertions, evictions;
};

struct cache *cache_new(size_t entries)
{
    struct cache *cache = xcalloc(1, sizeof(*cache));
    atomic_init(&cache->references, 1);
    cache->entries_max = entries;
    cache->failed_max = entries / FAILED_SHARE + FAILED_MIN;
    /* Each entry has four chunks and a quarter. With the failures' quarter, and two to four and a
     * half index slots of 8 bytes for each, this is less than 1,200 bytes an entry. */
    cache->reply_chunks = entries * SMALL_CHUNKS + entries / 4 + SMALL_CHUNKS;
    cache_chunks_init(&cache->chunks, (uint32_t)(cache->reply_chunks + 2 * cache->failed_max));
    cache_index_init(&cache->index, entries + cache->failed_max + 1);
    cache_zones_init(&cache->zones);
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
        cache_index_fini(&cache->index);
        cache_chunks_fini(&cache->chunks);
        free(cache);
    }
}

/* ---- The words of an entry that change ---- */

/* The bits of ENTRY_USE: the lower half of the entry's sequence in front, then these. A reader
 * changes the word only if the sequence is that of the entry it read. */
enum {
    USE_HITS = 3, /* mask: up to CACHE_REFRESH_HITS */
    USE_RECENT = 4,
    USE_REFRESHING = 8,
};
_Static_assert((int)CACHE_REFRESH_HITS <= (int)USE_HITS, "two bits");

/* Counts a hit. Returns true for the hit that is to have the entry refreshed. */
static bool mark_hit(_Atomic uint64_t *words, uint64_t sequence, bool may_refresh)
{
    uint64_t use = atomic_load_explicit(&words[ENTRY_USE], memory_order_relaxed);
    for (;;) {
        if (use >> 32 != (uint32_t)sequence) {
            return false;
        }
        uint64_t next = use | USE_RECENT;
        next += (next & USE_HITS) < CACHE_REFRESH_HITS ? 1 : 0;
        bool wants_refresh =
            may_refresh && (next & USE_HITS) >= CACHE_REFRESH_HITS && !(next & USE_REFRESHING);
        next |= wants_refresh ? USE_REFRESHING : 0;
        /* Nearly every hit leaves the word as it is and writes nothing. */
        if (next == use ||
            atomic_compare_exchange_weak_explicit(&words[ENTRY_USE], &use, next,
                                                  memory_order_relaxed, memory_order_relaxed)) {
            return wants_refresh;
        }
    }
}

static bool take_use(const struct cache_chunks *chunks, uint32_t entry)
{
    uint64_t use = atomic_fetch_and_explicit(&chunk_words(chunks, entry)[ENTRY_USE],
                                             ~(uint64_t)USE_RECENT, memory_order_relaxed);
    return use & USE_RECENT;
}

/* ENTRY_FAILURE: the end of the backoff in ms, then the backoff's length as a power of 2. 0: no
 * failure. */
enum { FAILURE_STEP_BITS = 8 };

static int64_t failed_until_ms(uint64_t failure)
{
    return (int64_t)(failure >> FAILURE_STEP_BITS);
}

static int64_t failure_ms(unsigned step)
{
    int64_t ms = (int64_t)CACHE_FAILURE_FIRST_MS << step;
    return ms < CACHE_FAILURE_MAX_MS ? ms : CACHE_FAILURE_MAX_MS;
}

static int64_t failed_at_ms(uint64_t failure)
{
    return failed_until_ms(failure) - failure_ms((uint8_t)failure);
}

static uint64_t next_failure(uint64_t failure, bool is_forgiven, int64_t now_ms)
{
    unsigned step = (uint8_t)failure;
    int64_t since_ms = now_ms - failed_until_ms(failure);
    if (failure != 0 && now_ms - failed_at_ms(failure) < CACHE_FAILURE_FIRST_MS) {
        return failure; /* asked before that failure, or at the same time */
    }
    if (failure == 0 || is_forgiven || since_ms > CACHE_FAILURE_MAX_MS) {
        step = 0; /* the first in a while */
    } else if (since_ms >= 0 && failure_ms(step) < CACHE_FAILURE_MAX_MS) {
        step++; /* else a probe failed: back off as long again */
    }
    return (uint64_t)(now_ms + failure_ms(step)) << FAILURE_STEP_BITS | step;
}

/* ---- Reading ---- */

struct reading {
    struct cache *cache;
    const struct entry_key *key;
    const struct cache_limits *limits;
    int64_t now_ms;
    enum cache_use use;
    uint32_t shuffle;
    uint8_t *records;
    size_t room;
};

/* An entry's state now, computed from the words that were read. */
struct view {
    bool has_reply, is_failing, may_refresh;
    enum cache_state state;
    struct cached_reply cached;
    int64_t age_ms, left_ms;
};

/* Returns whether the question is not to be asked now. */
static bool external_cache_is_failing(const struct reading *r, uint64_t failure)
{
    struct cache_zones *zones = &r->cache->zones;
    const uint32_t serial = (uint32_t)r->key->zone;
    if (failed_until_ms(failure) <= r->now_ms) {
        return false;
    }
    if (r->now_ms - failed_at_ms(failure) < CACHE_FAILURE_FIRST_MS) {
        return true;
    }
    return !cache_zones_recovered(zones, serial, failed_at_ms(failure)) &&
           !cache_zones_try(zones, serial, r->key->hash, r->now_ms, r->use == CACHE_ANSWER);
}

static void cache_view(const struct reading *r, _Atomic uint64_t *words, struct view *v)
{
    enum { MS_PER_S = 1000, REFRESH_SHARE = 10, REFRESH_MIN_MS = 1000 };
    int64_t cached_at_ms;
    v->is_failing = external_cache_is_failing(r, chunk_get(&words[ENTRY_FAILURE]));
    v->state = v->is_failing ? CACHE_FAILED : CACHE_MISS;
    if (!entry_read_reply(words, &v->cached, &cached_at_ms)) {
        return;
    }
    uint32_t ttl_s =
        v->cached.ttl_s < r->limits->ttl_max_s ? v->cached.ttl_s : r->limits->ttl_max_s;
    int64_t ttl_ms = (int64_t)ttl_s * MS_PER_S;
    v->age_ms = r->now_ms > cached_at_ms ? r->now_ms - cached_at_ms : 0;
    v->left_ms = ttl_ms - v->age_ms;
    v->may_refresh =
        !v->is_failing && v->left_ms >= REFRESH_MIN_MS && v->left_ms * REFRESH_SHARE < ttl_ms;
    if (v->left_ms > 0) {
        v->state = CACHE_FRESH;
    } else if (-v->left_ms < r->limits->stale_ms) {
        v->state = CACHE_STALE;
    }
    v->has_reply = v->state == CACHE_FRESH || v->state == CACHE_STALE;
}

static void cache_describe(const struct view *v, struct cache_hit *hit)
{
    enum { MS_PER_S = 1000 };
    hit->state = v->state;
    if (!v->has_reply) {
        return;
    }
    entry_describe(&v->cached, hit);
    hit->is_failing = v->state == CACHE_STALE && v->is_failing;
    hit->cached_s = (uint32_t)(v->age_ms / MS_PER_S);
    hit->left_s = v->state == CACHE_FRESH ? (uint32_t)((v->left_ms + MS_PER_S - 1) / MS_PER_S) : 0;
}

/* Reads one entry. Returns false when the entry changed meanwhile, and what was read means nothing.
 */
static bool cache_read_entry(const struct reading *r, _Atomic uint64_t *words, uint64_t sequence,
                             struct cache_hit *ret_hit)
{
    struct view v = {0};
    struct addr nameserver = {0};
    size_t len = 0;
    cache_view(r, words, &v);
    if (v.has_reply) {
        len = entry_copied(&v.cached, r->room);
        entry_read_records(&r->cache->chunks, words, r->key, r->records, len);
    }
    if (v.has_reply && r->use == CACHE_PEEK) {
        nameserver = entry_read_nameserver(words);
    }
    if (entry_sequence(words) != sequence) {
        return false;
    }
    cache_describe(&v, ret_hit);
    if (v.has_reply) {
        const struct entry_age age = {
            .ttl_max_s = r->limits->ttl_max_s,
            .cached_s = ret_hit->cached_s,
            .is_stale = v.state == CACHE_STALE,
        };
        entry_show(&v.cached, &age, r->shuffle, r->records, len, ret_hit);
    }
    if (r->use == CACHE_PEEK) {
        ret_hit->nameserver = nameserver;
    } else if (v.state != CACHE_MISS) {
        ret_hit->wants_refresh = mark_hit(words, sequence, v.state == CACHE_FRESH && v.may_refresh);
    }
    return true;
}

/* Searches for the entry and reads it. Returns false when it must be tried again. */
static bool try_read(const struct reading *r, struct cache_hit *ret_hit)
{
    size_t step = 0;
    uint32_t entry;
    while ((entry = cache_index_next(&r->cache->index, r->key->hash, &step)) != 0) {
        _Atomic uint64_t *words = chunk_words(&r->cache->chunks, entry);
        uint64_t sequence = entry_sequence(words);
        if (!entry_is_at(sequence)) {
            return false;
        }
        if (entry_has_key(&r->cache->chunks, words, r->key)) {
            return cache_read_entry(r, words, sequence, ret_hit);
        }
    }
    return true;
}

void cache_read(struct cache *cache, const struct cache_key *key, const struct cache_limits *limits,
                int64_t now_ms, enum cache_use use, uint32_t shuffle, uint8_t *records, size_t room,
                struct cache_hit *ret_hit)
{
    const struct entry_key entry_key = entry_key_of(key);
    const struct reading reading = {
        .cache = cache,
        .key = &entry_key,
        .limits = limits,
        .now_ms = now_ms,
        .use = use,
        .shuffle = shuffle,
        .records = records,
        .room = room,
    };
    *ret_hit = (struct cache_hit){.state = CACHE_MISS};
    for (unsigned i = 0; i < READ_TRIES && !try_read(&reading, ret_hit); i++) {
    }
}

void cache_prepare(const struct cache *cache, struct cache_key *key)
{
    key->hash = 0;
    key->hash = entry_key_of(key).hash;
    cache_index_prefetch(&cache->index, key->hash);
}

void cache_look_ahead(const struct cache *cache, const struct cache_key *key)
{
    enum { LINE_WORDS = 8 };
    size_t step = 0;
    uint32_t entry = cache_index_next(&cache->index, key->hash, &step);
    if (entry != 0) {
        for (size_t at = 0; at < CHUNK_WORDS; at += LINE_WORDS) {
            __builtin_prefetch(&chunk_words(&cache->chunks, entry)[at]);
        }
    }
}

/* ---- Filling ---- */

static uint32_t cache_find(const struct cache *cache, const struct entry_key *key)
{
    size_t step = 0;
    uint32_t entry;
    while ((entry = cache_index_next(&cache->index, key->hash, &step)) != 0 &&
           !entry_has_key(&cache->chunks, chunk_words(&cache->chunks, entry), key)) {
    }
    return entry;
}

static void count_memory(struct cache *cache)
{
    counter_set(&cache->entries, cache->queues[SMALL].entries + cache->queues[LARGE].entries);
    counter_set(&cache->used_bytes, (uint64_t)cache->chunks.taken * CHUNK_SIZE);
}

/* Queues an entry. ENTRY_PLACE holds the queue, then the length of the chain. */
static void cache_enqueue(struct cache *cache, uint32_t entry, enum queue_kind kind, size_t chunks)
{
    chunk_set(&chunk_words(&cache->chunks, entry)[ENTRY_PLACE], (uint64_t)kind << 32 | chunks);
    cache_queue_add(&cache->queues[kind], &cache->chunks, entry, chunks);
}

static enum queue_kind cache_kind_of(const struct cache *cache, uint32_t entry)
{
    return (enum queue_kind)(chunk_get(&chunk_words(&cache->chunks, entry)[ENTRY_PLACE]) >> 32);
}

/* Frees an entry that the index does not point at any more. */
static void cache_release(struct cache *cache, uint32_t entry)
{
    uint32_t chunks = (uint32_t)chunk_get(&chunk_words(&cache->chunks, entry)[ENTRY_PLACE]);
    cache_queue_remove(&cache->queues[cache_kind_of(cache, entry)], &cache->chunks, entry, chunks);
    entry_drop(&cache->chunks, entry);
    cache_chunks_return(&cache->chunks, entry);
}

static void cache_drop(struct cache *cache, uint32_t entry)
{
    uint64_t zone = chunk_get(&chunk_words(&cache->chunks, entry)[ENTRY_ZONE]);
    cache_index_remove(&cache->index, (uint32_t)(zone >> 32), entry);
    cache_release(cache, entry);
}

static void cache_evict(struct cache *cache, enum queue_kind kind)
{
    cache_drop(cache, cache_queue_victim(&cache->queues[kind], &cache->chunks, take_use));
    counter_add(&cache->evictions, kind == FAILED ? 0 : 1);
}

static size_t reply_chunks_left(const struct cache *cache)
{
    return cache->reply_chunks - cache->queues[SMALL].chunks - cache->queues[LARGE].chunks;
}

/* Evicts until the new entry fits. Long responses evict others only within their share; short ones
 * may have all that is left. So a client that asks for long ones cannot evict ten thousand short
 * ones. */
static void cache_make_room(struct cache *cache, enum queue_kind kind, size_t chunks, bool is_new)
{
    const size_t entries_max = is_new ? cache->entries_max - 1 : cache->entries_max;
    const struct cache_queue *small = &cache->queues[SMALL], *large = &cache->queues[LARGE];
    while (kind == LARGE && large->chunks + chunks > cache->reply_chunks / LARGE_SHARE) {
        cache_evict(cache, LARGE);
    }
    while (small->entries + large->entries > entries_max || reply_chunks_left(cache) < chunks) {
        cache_evict(cache, small->entries > 0 ? SMALL : LARGE);
    }
}

/* Puts a new entry into the index, in place of an older one of the key. */
static void cache_publish(struct cache *cache, const struct entry_key *key, uint32_t entry)
{
    uint32_t old = cache_find(cache, key);
    if (old == 0) {
        cache_index_add(&cache->index, key->hash, entry);
        return;
    }
    bool was_used = take_use(&cache->chunks, old);
    atomic_fetch_or_explicit(&chunk_words(&cache->chunks, entry)[ENTRY_USE],
                             was_used ? (uint64_t)USE_RECENT : 0, memory_order_relaxed);
    cache_index_replace(&cache->index, key->hash, old, entry);
    cache_release(cache, old);
}

static void cache_insert(struct cache *cache, const struct entry_key *key, enum queue_kind kind,
                         const struct entry_reply *reply)
{
    size_t chunks = entry_chunks(key->name->len, reply->cached ? reply->cached->len : 0);
    uint32_t entry = cache_chunks_take(&cache->chunks, chunks);
    entry_write(&cache->chunks, entry, key, reply);
    cache_publish(cache, key, entry);
    cache_enqueue(cache, entry, kind, chunks);
}

enum cache_verdict cache_put(struct cache *cache, const struct cache_key *key,
                             const struct cache_image *image, const struct addr *nameserver,
                             int64_t now_ms)
{
    const struct cached_reply *cached = &image->cached;
    const struct entry_key entry_key = entry_key_of(key);
    if (image->verdict != CACHE_HIT) {
        return image->verdict;
    }
    size_t chunks = entry_chunks(key->name.len, cached->len);
    enum queue_kind kind = chunks <= SMALL_CHUNKS ? SMALL : LARGE;
    if (kind == LARGE && chunks > cache->reply_chunks / LARGE_SHARE) {
        return CACHE_TOO_LARGE;
    }
    uint32_t old = cache_find(cache, &entry_key);
    cache_make_room(cache, kind, chunks, old == 0 || cache_kind_of(cache, old) == FAILED);
    cache_insert(
        cache, &entry_key, kind,
        &(struct entry_reply){cached, image->bytes + cached->records_at, nameserver, now_ms});
    counter_add(&cache->insertions, 1);
    count_memory(cache);
    return CACHE_HIT;
}

void cache_fail(struct cache *cache, const struct cache_key *key, enum cache_asking asking,
                int64_t now_ms)
{
    const struct entry_key entry_key = entry_key_of_failure(key, asking);
    uint32_t entry = cache_find(cache, &entry_key);
    if (entry == 0) {
        while (cache->queues[FAILED].entries >= cache->failed_max) {
            cache_evict(cache, FAILED);
        }
        cache_insert(cache, &entry_key, FAILED, &(struct entry_reply){0});
        count_memory(cache);
        entry = cache_find(cache, &entry_key);
    }
    _Atomic uint64_t *word = &chunk_words(&cache->chunks, entry)[ENTRY_FAILURE];
    const uint64_t failure = chunk_get(word);
    const bool is_forgiven =
        cache_zones_recovered(&cache->zones, key->zone_serial, failed_at_ms(failure));
    chunk_set(word, next_failure(failure, is_forgiven, now_ms));
    cache_zones_fail(&cache->zones, key->zone_serial,
                     (uint32_t)seeded_hash(slice_of(key->name.wire, key->name.len)));
}

/* Returns whether the question is not to be asked now. With CACHE_PEEK, no probe begins. */
static bool cache_has_failed(struct cache *cache, const struct entry_key *key, enum cache_use use,
                             int64_t now_ms)
{
    const struct reading reading = {.cache = cache, .key = key, .now_ms = now_ms, .use = use};
    const uint32_t entry = cache_find(cache, key);
    return entry != 0 &&
           external_cache_is_failing(&reading,
                                     chunk_get(&chunk_words(&cache->chunks, entry)[ENTRY_FAILURE]));
}

bool cache_is_failing(struct cache *cache, const struct cache_key *key, enum cache_asking asking,
                      int64_t now_ms)
{
    const struct entry_key plain = entry_key_of(key), own = entry_key_of_failure(key, asking);
    return cache_has_failed(cache, &plain, CACHE_PEEK, now_ms) ||
           cache_has_failed(cache, &own, CACHE_ANSWER, now_ms);
}

void cache_zone_answered(struct cache *cache, uint32_t zone_serial, int64_t now_ms)
{
    cache_zones_answer(&cache->zones, zone_serial, now_ms);
}

void cache_zone_revived(struct cache *cache, uint32_t zone_serial, bool was_away, int64_t now_ms)
{
    cache_zones_recover(&cache->zones, zone_serial, was_away, now_ms);
}

static bool is_flushed(const struct cache *cache, const struct cache_flush *flush, uint32_t entry)
{
    struct dname name;
    entry_read_name(&cache->chunks, entry, &name);
    return flush->is_zone ? dname_is_within(&name, &flush->name) : dname_equal(&name, &flush->name);
}

/* Looks at a place again after a removal, which moves a later entry into it. */
bool cache_flush(struct cache *cache, const struct cache_flush *flush, size_t *at,
                 uint64_t *dropped)
{
    size_t left = CACHE_FLUSH_STEP;
    while (*at > 0 && *at <= cache->index.mask && cache_index_at(&cache->index, *at - 1) != 0) {
        --*at; /* an eviction may have moved a later entry to a place before */
    }
    while (*at <= cache->index.mask && left-- > 0) {
        const uint32_t entry = cache_index_at(&cache->index, *at);
        if (entry != 0 && is_flushed(cache, flush, entry)) {
            *dropped += cache_kind_of(cache, entry) != FAILED;
            cache_drop(cache, entry);
        } else {
            ++*at;
        }
    }
    count_memory(cache);
    return *at > cache->index.mask;
}

void cache_refresh_over(struct cache *cache, const struct cache_key *key)
{
    const struct entry_key entry_key = entry_key_of(key);
    uint32_t entry = cache_find(cache, &entry_key);
    if (entry != 0) {
        atomic_fetch_and_explicit(&chunk_words(&cache->chunks, entry)[ENTRY_USE],
                                  ~(uint64_t)USE_REFRESHING, memory_order_relaxed);
    }
}

struct cache_figures cache_figures(const struct cache *cache)
{
    return (struct cache_figures){
        .entries = counter_get(&cache->entries),
        .bytes = counter_get(&cache->used_bytes),
        .entries_max = cache->entries_max,
        .insertions = counter_get(&cache->insertions),
        .evictions = counter_get(&cache->evictions),
    };
}
