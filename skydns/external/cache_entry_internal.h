/* Lays out a cache entry in its chunks: its state, its key's name, and the records as cached_reply
 * has them, in one piece. So a hit waits for two or three lines of memory.
 *
 * One thread writes an entry once. Later it changes only the words marked below. The entry's
 * sequence is even from then on until it is dropped. Any thread may read it at any time: the result
 * is an entry if the sequence was even before and is the same afterwards. */
#ifndef SKYDNS_EXTERNAL_CACHE_ENTRY_INTERNAL_H
#define SKYDNS_EXTERNAL_CACHE_ENTRY_INTERNAL_H

#include <stdbool.h>

#include "skydns/external/cache.h"
#include "skydns/external/cache_image.h"
#include "skydns/external/cache_memory_internal.h"

/* The words of an entry's first chunk. The words that every hit needs come first, so that they and
 * a short response lie in two lines of memory, which processors fetch together. */
enum {
    ENTRY_QUESTION = CHUNK_REST, /* type, class, DO, CD, the name's length */
    ENTRY_ZONE,                  /* the zone's serial; the key's hash */
    ENTRY_CACHED_AT,             /* ms */
    ENTRY_KIND,                  /* TTL, rcode, bits */
    ENTRY_COUNTS,                /* records; run of addresses */
    ENTRY_LENGTHS,
    ENTRY_FAILURE,                 /* changes: cache.c */
    ENTRY_USE,                     /* changes, by readers too: cache.c */
    ENTRY_DATA,                    /* the name, then the records, each from a word's beginning */
    ENTRY_PLACE = CHUNK_WORDS - 1, /* the filling thread's: queue, length of the chain */
    ENTRY_LINKS = ENTRY_PLACE - 1, /* the filling thread's: neighbours in the queue */
    ENTRY_PEER_IP_END = ENTRY_LINKS - 1,
    ENTRY_PEER_IP = ENTRY_PEER_IP_END - 1,
    ENTRY_PEER = ENTRY_PEER_IP - 1, /* the upstream: family, port, scope, then its address */
    ENTRY_DATA_END = ENTRY_PEER,    /* continued in the next chunk */
};

/* A key in an entry's form. */
struct entry_key {
    uint32_t hash;
    uint64_t question, zone;
    size_t name_words;
    const struct dname *name; /* borrowed */
};
struct entry_key entry_key_of(const struct cache_key *key);
/* Returns the key of failures of questions that were not CACHE_PLAIN. It differs from that of plain
 * ones. */
struct entry_key entry_key_of_failure(const struct cache_key *key, enum cache_asking asking);

/* Returns how many chunks a name and records of such lengths take. */
size_t entry_chunks(size_t name_len, size_t records_len);

/* Writes an entry into the chain that begins at `chunk` and has entry_chunks. Afterwards it can be
 * read. `cached` NULL: an entry without a response, for a failure. The filling thread. */
struct entry_reply {
    const struct cached_reply *cached;
    const uint8_t *records;
    const struct addr *nameserver;
    int64_t cached_at_ms;
};
void entry_write(const struct cache_chunks *chunks, uint32_t chunk, const struct entry_key *key,
                 const struct entry_reply *reply);

/* Ends all reading of an entry. The filling thread. */
void entry_drop(const struct cache_chunks *chunks, uint32_t chunk);

static inline uint64_t entry_sequence(_Atomic uint64_t *words)
{
    return chunk_get(&words[CHUNK_SEQUENCE]);
}

static inline bool entry_is_at(uint64_t sequence)
{
    return sequence % 2 == 0;
}

/* Returns whether the entry has this key. Any thread. */
bool entry_has_key(const struct cache_chunks *chunks, _Atomic uint64_t *words,
                   const struct entry_key *key);

/* Reads the key's name. The filling thread. */
void entry_read_name(const struct cache_chunks *chunks, uint32_t chunk, struct dname *ret_name);

/* Reads the response's description. Returns false when there is no response. Any thread, like the
 * next two. */
bool entry_read_reply(_Atomic uint64_t *words, struct cached_reply *ret_cached,
                      int64_t *ret_cached_at_ms);
struct addr entry_read_nameserver(_Atomic uint64_t *words);
/* Copies the first `len` bytes of the records. */
void entry_read_records(const struct cache_chunks *chunks, _Atomic uint64_t *words,
                        const struct entry_key *key, uint8_t *records, size_t len);

/* ---- Copied records, in a client's form; any thread ---- */

/* Returns how many bytes a reader with so much room copies: both sections, the answer section, or
 * the part of it that fits. */
size_t entry_copied(const struct cached_reply *cached, size_t room);

/* The age that the records are to show. */
struct entry_age {
    uint32_t ttl_max_s; /* no TTL is longer */
    uint32_t cached_s;  /* subtracted from each, down to 1 */
    bool is_stale;      /* all CACHE_STALE_TTL_S instead */
};

/* Gives records just copied the TTLs of now (age NULL: they have them) and, with `shuffle` != 0, a
 * random order of addresses. `len` comes from entry_copied. Sets the hit's shown_... fields. */
void entry_show(const struct cached_reply *cached, const struct entry_age *age, uint32_t shuffle,
                uint8_t *records, size_t len, struct cache_hit *hit);

/* Sets those fields of a hit that stay the same while the entry is cached. */
void entry_describe(const struct cached_reply *cached, struct cache_hit *hit);

#endif
