/* Makes the cached form of an upstream's response: the records that answer the question, and
 * nothing else.
 *
 * These are the CNAMEs from the question's name, with the DNAMEs they were made from. The records
 * of the type at their end follow, or the SOA of a denial. With DO come their signatures, and the
 * proofs of a denial or a wildcard. Any other record is left out: a record is shown only to clients
 * that ask about its name, so no response can say anything about another name.
 *
 * Names are compressed against a question at offset 12 and against earlier records. The records
 * therefore follow any client's question about this name, in any spelling, and stand there only.
 * The first response to a question is made from the image, too, so it says what later ones say. Any
 * thread; pure but for the image's memory. */
#ifndef SKYDNS_EXTERNAL_CACHE_IMAGE_H
#define SKYDNS_EXTERNAL_CACHE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dns.h"
#include "skydns/external/cache.h"
#include "skydns/wire/response.h"
#include "skydns/wire/response_parse.h"

enum {
    CACHED_CNAMES_MAX = 16, /* the limit of external targets, too: loops end here */
    /* Bounds how often a response's records are looked at, each by one or two names.
     *
     * For each name of the chain: the type asked for, its CNAME, that one's DNAME, and signatures
     * of both. Twice for the records at the end, and twice for an SOA. Then the proofs, each for
     * whether its set is new, and for its signatures. So a response of N bytes takes at most 14 N
     * steps, since a record has 11. */
    CACHED_PROOFS_MAX = 32,
    CACHED_SCANS_MAX = 5 * (CACHED_CNAMES_MAX + 1) + 2 + 2 + 1 + 2 * CACHED_PROOFS_MAX,
    CACHED_STEPS_PER_BYTE = CACHED_SCANS_MAX / 11,
    /* Header, question and records, with room for an OPT record in the same message. */
    CACHED_IMAGE_MAX = DNS_MESSAGE_MAX - 64,
};

/* Describes the records. */
struct cached_reply {
    bool is_negative;
    bool is_authentic;
    uint8_t rcode;
    uint16_t answers, authorities;
    uint16_t records_at;       /* offset at which the question ends */
    uint16_t answers_len, len; /* bytes: of the answer section, of both sections */
    uint32_t ttl_s;            /* for which it may be cached */
    size_t steps;              /* looks at records, at most CACHED_SCANS_MAX each */
    /* Address records of equal length, which may stand in any order; count 0: none. */
    uint16_t run_at, run_count, run_size;
};

/* The cached form of one response, for the response cache and all queries that wait for it. The
 * first that needs it makes it, which takes a millisecond for thousands of records. All zero: not
 * made yet. */
struct cache_image {
    unsigned made_count; /* more than once if the configuration changes in between */
    enum cache_verdict verdict;
    uint32_t ttl_max_s; /* the limit it was made with */
    bool dnssec_ok;
    struct cached_reply cached; /* CACHE_HIT only: its records are at bytes + cached.records_at */
    uint8_t *bytes;
    size_t size;
};

void cache_image_fini(struct cache_image *image); /* zeroes it */

/* Makes the image of an upstream's response to a question with the key's name, type and class. With
 * another verdict than CACHE_HIT, nothing can be cached, and only image->cached.steps is set. */
enum cache_verdict cache_image_make(struct cache_image *image, const struct cache_key *key,
                                    const struct parsed_response *response, uint32_t ttl_max_s);

/* Reads the first response without the cache: gives what cache_read gives right after cache_put of
 * this image, under the same conditions about `records` and `room`. Only for CACHE_HIT. */
void cache_image_read(const struct cache_image *image, uint32_t shuffle, uint8_t *records,
                      size_t room, struct cache_hit *ret_hit);

/* Moves shown records (cache_read, cache_image_read) so that they follow a search list's CNAME at
 * `start`: their pointers change. They are whole, `len` bytes, about a name of name_len. */
void cached_records_move(uint8_t *records, size_t len, size_t name_len,
                         const struct response_start *start);

#endif
