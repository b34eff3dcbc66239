/* Makes what is kept of a nameserver's reply: the records that answer the question, and nothing
 * else. The CNAMEs from the name asked for (with the DNAMEs they were made from), the records of
 * the type at their end, or the SOA of a denial; with DO, the signatures of these, and the proofs
 * of a denial or a wildcard. Whatever else a nameserver sends is left out: a record is shown only
 * to those who ask for its name, so that no reply can say anything about another name.
 *
 * Names are compressed against a question at offset 12 and against earlier records: the records
 * follow any client's question for this name, however it is spelled, and stand there only.
 *
 * The first reply to a question is made with this, too: it says what later ones will say.
 *
 * Any thread; pure but for the image's memory. */
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
    CACHED_CNAMES_MAX = 16, /* as many as targets outside the domain may have: loops end here */
    /* How often a response's records are looked at, each by one or two names: for each name of the
     * chain, what is asked for, its CNAME, the DNAME of that, and signatures of both; twice for the
     * records at the end, and twice for an SOA; the proofs, and of each whether its set is new, and
     * its signatures. So a response of N bytes takes at most 14 N steps, since a record has 11. */
    CACHED_PROOFS_MAX = 32,
    CACHED_SCANS_MAX = 5 * (CACHED_CNAMES_MAX + 1) + 2 + 2 + 1 + 2 * CACHED_PROOFS_MAX,
    CACHED_STEPS_PER_BYTE = CACHED_SCANS_MAX / 11,
    /* Header, question and records: with room for an OPT record in the same message. */
    CACHED_IMAGE_MAX = DNS_MESSAGE_MAX - 64,
};

/* What there is to say about the records, beside their bytes. */
struct cached_reply {
    bool is_negative;
    bool is_authentic;
    uint8_t rcode;
    uint16_t answers, authorities;
    uint16_t records_at;       /* where the question ends */
    uint16_t answers_len, len; /* bytes: of the answer section, of both sections */
    uint32_t ttl_s;            /* for which it may be kept */
    size_t steps;              /* it took so many looks at records: CACHED_SCANS_MAX each */
    /* Equally long address records, which may stand in any order; count 0: none. */
    uint16_t run_at, run_count, run_size;
};

/* What is kept of one response, for the cache and all who wait for it: made when the first needs
 * it, a millisecond for thousands of records. All zero: not yet. */
struct cache_image {
    unsigned made_count; /* more than once if the configuration changes in between */
    enum cache_verdict verdict;
    uint32_t ttl_max_s; /* it was made for these */
    bool dnssec_ok;
    struct cached_reply cached; /* KEPT only: its records are at bytes + kept.records_at */
    uint8_t *bytes;
    size_t size;
};

void cache_image_fini(struct cache_image *image); /* all zero again */

/* Takes a nameserver's response to a question with the key's name, type and class. With another
 * verdict than CACHE_HIT, nothing is kept, and only image->kept.steps is set. */
enum cache_verdict cache_image_make(struct cache_image *image, const struct cache_key *key,
                                    const struct parsed_response *response, uint32_t ttl_max_s);

/* The first reply, without a cache: what cache_read gives right after cache_put of the response
 * that the image was made of, under the same conditions about `records` and `room`. Only of what is
 * CACHE_HIT. */
void cache_image_read(const struct cache_image *image, uint32_t shuffle, uint8_t *records,
                      size_t room, struct cache_hit *ret_hit);

/* Makes of shown records (cache_read, cache_image_read), whole ones of `len` bytes about a name of
 * name_len, those that follow a search path's CNAME at `start`: their pointers move. */
void cached_records_move(uint8_t *records, size_t len, size_t name_len,
                         const struct response_start *start);

#endif
