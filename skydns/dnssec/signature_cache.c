#include "skydns/dnssec/signature_cache_internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"

/* Words of an entry. The sequence is even while the entry can be read. Words read between it and
 * the signature count if it was even before and is the same afterwards. Entries have numbers from
 * 1; they are never freed, only written anew. */
enum {
    WORD_SEQUENCE,
    WORD_ID_LOW,
    WORD_ID_HIGH,
    WORD_MADE,  /* seconds */
    WORD_LEN,   /* bytes of the signature */
    WORD_USE,   /* changed by readers: when renewal was last claimed, how often it was found */
    WORD_NEXT,  /* the bucket's next entry; 0: none */
    WORD_NEWER, /* under the lock: the queue's next entry; 0: none */
    WORD_SIGNATURE,
    LINE_WORDS = 64 / 8, /* entries are whole lines of memory */
};

enum {
    SECRET_SIZE = 192,
    /* Limits the entries that one insertion may spare, for signers that wait for the lock; each
     * takes a tenth of a microsecond. */
    SPARED_MAX = 1024,
    /* Limits the uses that are counted; a proven entry is spared as often: S3-FIFO's number. An
     * entry that was popular and is not any more is evicted soon. */
    USES_MAX = 3,
    USES_BITS = 2,
    /* Limits a search: a bucket has an entry or two; a reader that is led astray by changes ends
     * here. */
    STEPS_MAX = 32,
    GONE_RATIO = 4, /* so that most are remembered while the cache is filled once with others */
};

typedef _Atomic uint64_t atomic_word;

/* Queue of entries by age. Those found again have a queue of their own (S3-FIFO), so that a flood
 * of names asked for once passes through the other alone. An entry that comes again soon after it
 * was evicted unfound counts as proven: so a working set larger than the queue of fresh ones gets
 * in. */
struct queue {
    uint32_t oldest, newest;
    size_t count;
};

struct signature_cache {
    uint8_t secret[SECRET_SIZE];
    _Atomic uint32_t *buckets; /* owned: the first entry of each */
    size_t bucket_mask;
    void *block;        /* owned */
    atomic_word *words; /* in the block */
    size_t entry_words, len_max;
    uint32_t entries_max;
    _Atomic uint32_t cached; /* entries that have been written; changed under the lock */

    pthread_mutex_t lock;       /* who adds */
    struct queue fresh, proven; /* of entries found never, or not yet seen to be found; found */
    size_t fresh_max;
    uint32_t *gone; /* owned, GONE_RATIO for each bucket: parts of ids of those that went unfound */
};

/* Reads with acquire (writes release), so that a reader of a newer word sees the newer sequence
 * afterwards. */
static inline uint64_t signature_cache_get(const atomic_word *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

static inline void signature_cache_set(atomic_word *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

static inline atomic_word *entry_at(const struct signature_cache *cache, uint32_t entry)
{
    return cache->words + (size_t)(entry - 1) * cache->entry_words;
}

/* ---- Life ---- */

/* Allocates without alignment: the allocator would have to zero the memory for it, and so touch all
 * of it. */
static void signature_cache_allocate(struct signature_cache *cache)
{
    size_t buckets = 8;
    while (buckets < cache->entries_max) {
        buckets *= 2;
    }
    cache->bucket_mask = buckets - 1;
    cache->buckets = xcalloc(buckets, sizeof(cache->buckets[0]));
    cache->gone = xcalloc(GONE_RATIO * buckets, sizeof(cache->gone[0]));
    cache->fresh_max = cache->entries_max / 8;
    enum { LINE = LINE_WORDS * sizeof(uint64_t) };
    char *block = xcalloc((size_t)cache->entries_max * cache->entry_words + LINE_WORDS,
                          sizeof(cache->words[0]));
    cache->block = block;
    cache->words = (atomic_word *)(void *)(block + (LINE - (uintptr_t)block % LINE) % LINE);
}

int signature_cache_new(size_t entries_max, size_t len_max, struct signature_cache **ret_cache,
                        struct err *err)
{
    struct signature_cache *cache = xcalloc(1, sizeof(*cache));
    if (getrandom(cache->secret, sizeof(cache->secret), 0) != (ssize_t)sizeof(cache->secret)) {
        free(cache);
        return err_set(err, -EIO, "the kernel has no random numbers");
    }
    size_t words = WORD_SIGNATURE + (len_max + 7) / 8;
    cache->len_max = len_max;
    cache->entry_words = (words + LINE_WORDS - 1) / LINE_WORDS * LINE_WORDS;
    cache->entries_max = entries_max < 1                       ? 1
                         : entries_max > DNSSEC_SIGNATURES_MAX ? DNSSEC_SIGNATURES_MAX
                                                               : (uint32_t)entries_max;
    signature_cache_allocate(cache);
    (void)pthread_mutex_init(&cache->lock, NULL); /* cannot fail without attributes */
    *ret_cache = cache;
    return 0;
}

void signature_cache_free(struct signature_cache *cache)
{
    if (cache) {
        (void)pthread_mutex_destroy(&cache->lock); /* nobody holds it */
        free(cache->buckets);
        free(cache->gone);
        free(cache->block);
        free(cache);
    }
}

/* ---- Ids ---- */

/* Bytes to be hashed; when the buffer is full, their hash replaces them. */
struct hasher {
    const uint8_t *secret;
    size_t used;
    uint8_t bytes[1024]; /* most RRsets whole */
};

static struct signature_id signature_cache_digest(const struct hasher *h)
{
    XXH128_hash_t hash = XXH3_128bits_withSecret(h->bytes, h->used, h->secret, SECRET_SIZE);
    return (struct signature_id){hash.low64, hash.high64};
}

/* Makes room by replacing what is there by its digest. */
static NOINLINE void absorb_long(struct hasher *h, const uint8_t *from, size_t len)
{
    while (len > sizeof(h->bytes) - h->used) {
        size_t part = sizeof(h->bytes) - h->used;
        memcpy(h->bytes + h->used, from, part);
        h->used = sizeof(h->bytes);
        struct signature_id so_far = signature_cache_digest(h);
        memcpy(h->bytes, &so_far, sizeof(so_far));
        h->used = sizeof(so_far);
        from += part;
        len -= part;
    }
    memcpy(h->bytes + h->used, from, len);
    h->used += len;
}

static inline void signature_cache_absorb(struct hasher *h, const void *bytes, size_t len)
{
    if (len > sizeof(h->bytes) - h->used) {
        absorb_long(h, bytes, len);
    } else if (len > 0) {
        memcpy(h->bytes + h->used, bytes, len);
        h->used += len;
    }
}

/* Puts each piece after its length, so that other pieces are other bytes. */
struct signature_id signature_cache_id(const struct signature_cache *cache,
                                       const struct dnssec_rrset *rrset)
{
    struct hasher h;
    h.secret = cache->secret;
    h.used = 0;
    const uint32_t head[] = {rrset->type, rrset->ttl_s, (uint32_t)rrset->count,
                             (uint32_t)rrset->owner.len};
    signature_cache_absorb(&h, head, sizeof(head));
    signature_cache_absorb(&h, rrset->owner.ptr, rrset->owner.len);
    for (size_t i = 0; i < rrset->count; i++) {
        uint16_t len = (uint16_t)rrset->rdata[i].len;
        signature_cache_absorb(&h, &len, sizeof(len));
        signature_cache_absorb(&h, rrset->rdata[i].ptr, len);
    }
    return signature_cache_digest(&h);
}

/* ---- Looking up ---- */

static _Atomic uint32_t *bucket_of(const struct signature_cache *cache, struct signature_id id)
{
    return &cache->buckets[id.low & cache->bucket_mask];
}

static inline bool has_id(const atomic_word *words, struct signature_id id)
{
    return signature_cache_get(&words[WORD_ID_LOW]) == id.low &&
           signature_cache_get(&words[WORD_ID_HIGH]) == id.high;
}

/* Returns the entry with this ID, or 0. Without the lock, confirm by its sequence what it is. */
static uint32_t dnssec_signature_cache_find(const struct signature_cache *cache,
                                            struct signature_id id)
{
    uint32_t entry = atomic_load_explicit(bucket_of(cache, id), memory_order_acquire);
    for (unsigned step = 0; entry != 0 && step < STEPS_MAX; step++) {
        const atomic_word *words = entry_at(cache, entry);
        if (has_id(words, id)) {
            return entry;
        }
        entry = (uint32_t)signature_cache_get(&words[WORD_NEXT]);
    }
    return 0;
}

static void copy_signature(const atomic_word *words, size_t len, uint8_t *out)
{
    const atomic_word *from = words + WORD_SIGNATURE;
    for (; len >= 8; len -= 8, out += 8) {
        uint64_t word = signature_cache_get(from++);
        memcpy(out, &word, 8);
    }
    if (len > 0) {
        uint64_t word = signature_cache_get(from);
        memcpy(out, &word, len);
    }
}

bool signature_cache_find(const struct signature_cache *cache, struct signature_id id,
                          struct signature_found *ret_found, uint8_t *out)
{
    uint32_t entry = dnssec_signature_cache_find(cache, id);
    if (entry == 0) {
        return false;
    }
    const atomic_word *words = entry_at(cache, entry);
    uint64_t sequence = signature_cache_get(&words[WORD_SEQUENCE]);
    size_t len = signature_cache_get(&words[WORD_LEN]);
    if (sequence % 2 != 0 || !has_id(words, id) || len > cache->len_max) {
        return false;
    }
    *ret_found = (struct signature_found){
        .made_s = (int64_t)signature_cache_get(&words[WORD_MADE]), .len = len, .entry = entry};
    copy_signature(words, len, out);
    return signature_cache_get(&words[WORD_SEQUENCE]) == sequence;
}

/* Writes only while there is something to change: otherwise processors would wait for each other.
 * The entry may be another's meanwhile, or two threads write at once: one use or claim more or less
 * does no harm. */
void signature_cache_use(struct signature_cache *cache, const struct signature_found *found)
{
    atomic_word *use = &entry_at(cache, found->entry)[WORD_USE];
    uint64_t now = signature_cache_get(use);
    if ((now & USES_MAX) < USES_MAX) {
        signature_cache_set(use, now + 1);
    }
}

bool signature_cache_claim(struct signature_cache *cache, const struct signature_found *found,
                           int64_t now_s)
{
    atomic_word *use = &entry_at(cache, found->entry)[WORD_USE];
    uint64_t before = signature_cache_get(use);
    int64_t claimed_s = (int64_t)(before >> USES_BITS);
    if (claimed_s <= now_s && now_s - claimed_s < DNSSEC_RENEW_AGAIN_S) {
        return false;
    }
    uint64_t after = (uint64_t)now_s << USES_BITS | (before & USES_MAX);
    return atomic_compare_exchange_strong_explicit(use, &before, after, memory_order_relaxed,
                                                   memory_order_relaxed);
}

/* ---- Adding: under the lock ---- */

/* Adds at the new end; entries leave at the old end only. */
static void queue_add(struct signature_cache *cache, struct queue *queue, uint32_t entry)
{
    signature_cache_set(&entry_at(cache, entry)[WORD_NEWER], 0);
    if (queue->newest) {
        signature_cache_set(&entry_at(cache, queue->newest)[WORD_NEWER], entry);
    } else {
        queue->oldest = entry;
    }
    queue->newest = entry;
    queue->count++;
}

static uint32_t queue_take(struct signature_cache *cache, struct queue *queue)
{
    uint32_t entry = queue->oldest;
    queue->oldest = (uint32_t)signature_cache_get(&entry_at(cache, entry)[WORD_NEWER]);
    queue->newest = queue->oldest ? queue->newest : 0;
    queue->count--;
    return entry;
}

/* Returns how often it was found; takes all uses away, or one. */
static unsigned take_uses(struct signature_cache *cache, uint32_t entry, bool takes_all)
{
    atomic_word *use = &entry_at(cache, entry)[WORD_USE];
    uint64_t now = signature_cache_get(use);
    unsigned uses = (unsigned)(now & USES_MAX);
    if (uses > 0) {
        signature_cache_set(use, now - (takes_all ? uses : 1));
    }
    return uses;
}

/* Takes an entry out of its queue. Fresh entries have an eighth of the memory when the proven ones
 * need the rest. Fresh entries that were found again move on; proven ones that were not found since
 * they came, or came again, are evicted first. */
static uint32_t signature_cache_evict(struct signature_cache *cache)
{
    for (unsigned spared = 0;; spared++) {
        bool is_new = cache->fresh.count > cache->fresh_max || cache->proven.count == 0;
        struct queue *queue = is_new ? &cache->fresh : &cache->proven;
        uint32_t entry = queue_take(cache, queue);
        if (take_uses(cache, entry, is_new) == 0 || spared == SPARED_MAX) {
            return entry;
        }
        queue_add(cache, &cache->proven, entry);
    }
}

static struct signature_id signature_cache_id_of(const struct signature_cache *cache,
                                                 uint32_t entry)
{
    const atomic_word *words = entry_at(cache, entry);
    return (struct signature_id){signature_cache_get(&words[WORD_ID_LOW]),
                                 signature_cache_get(&words[WORD_ID_HIGH])};
}

static void bucket_add(struct signature_cache *cache, uint32_t entry)
{
    _Atomic uint32_t *bucket = bucket_of(cache, signature_cache_id_of(cache, entry));
    signature_cache_set(&entry_at(cache, entry)[WORD_NEXT],
                        atomic_load_explicit(bucket, memory_order_relaxed));
    atomic_store_explicit(bucket, entry, memory_order_release);
}

static void bucket_remove(struct signature_cache *cache, uint32_t entry)
{
    _Atomic uint32_t *bucket = bucket_of(cache, signature_cache_id_of(cache, entry));
    uint64_t next = signature_cache_get(&entry_at(cache, entry)[WORD_NEXT]);
    uint32_t at = atomic_load_explicit(bucket, memory_order_relaxed);
    if (at == entry) {
        atomic_store_explicit(bucket, (uint32_t)next, memory_order_release);
        return;
    }
    while ((uint32_t)signature_cache_get(&entry_at(cache, at)[WORD_NEXT]) != entry) {
        at = (uint32_t)signature_cache_get(&entry_at(cache, at)[WORD_NEXT]);
    }
    signature_cache_set(&entry_at(cache, at)[WORD_NEXT], next);
}

static void write_entry(struct signature_cache *cache, uint32_t entry, struct signature_id id,
                        int64_t made_s, struct slice signature)
{
    atomic_word *words = entry_at(cache, entry);
    uint64_t sequence = signature_cache_get(&words[WORD_SEQUENCE]);
    signature_cache_set(&words[WORD_SEQUENCE], sequence + 1);
    signature_cache_set(&words[WORD_ID_LOW], id.low);
    signature_cache_set(&words[WORD_ID_HIGH], id.high);
    signature_cache_set(&words[WORD_MADE], (uint64_t)made_s);
    signature_cache_set(&words[WORD_LEN], signature.len);
    for (size_t at = 0; at < signature.len; at += 8) {
        size_t left = signature.len - at;
        uint64_t word = 0;
        memcpy(&word, signature.ptr + at, left < 8 ? left : 8);
        signature_cache_set(&words[WORD_SIGNATURE + at / 8], word);
    }
    signature_cache_set(&words[WORD_SEQUENCE], sequence + 2);
}

static uint32_t *gone_of(const struct signature_cache *cache, struct signature_id id)
{
    return &cache->gone[id.high % (GONE_RATIO * (cache->bucket_mask + 1))];
}

static uint32_t gone_mark(struct signature_id id)
{
    return (uint32_t)(id.low >> 32) | 1; /* 0: none */
}

/* Returns a new entry, or an evicted one. */
static uint32_t take_entry(struct signature_cache *cache)
{
    uint32_t cached = atomic_load_explicit(&cache->cached, memory_order_relaxed);
    if (cached < cache->entries_max) {
        atomic_store_explicit(&cache->cached, cached + 1, memory_order_relaxed);
        return cached + 1;
    }
    uint32_t entry = signature_cache_evict(cache);
    struct signature_id id = signature_cache_id_of(cache, entry);
    bucket_remove(cache, entry);
    *gone_of(cache, id) = gone_mark(id);
    return entry;
}

void signature_cache_put(struct signature_cache *cache, struct signature_id id, int64_t made_s,
                         struct slice signature)
{
    if (signature.len > cache->len_max) {
        return;
    }
    (void)pthread_mutex_lock(&cache->lock);
    uint32_t entry = dnssec_signature_cache_find(cache, id);
    if (entry != 0) {
        write_entry(cache, entry, id, made_s, signature);
        (void)pthread_mutex_unlock(&cache->lock);
        return;
    }
    entry = take_entry(cache);
    bool is_back = *gone_of(cache, id) == gone_mark(id);
    write_entry(cache, entry, id, made_s, signature);
    signature_cache_set(&entry_at(cache, entry)[WORD_USE], 0);
    bucket_add(cache, entry);
    queue_add(cache, is_back ? &cache->proven : &cache->fresh, entry);
    (void)pthread_mutex_unlock(&cache->lock);
}

size_t signature_cache_cached(const struct signature_cache *cache)
{
    return atomic_load_explicit(&cache->cached, memory_order_relaxed);
}

size_t signature_cache_max(const struct signature_cache *cache)
{
    return cache->entries_max;
}
