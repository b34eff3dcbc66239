/* Holds the keys of -dnssec by zone, and the signature cache of what they sign. Built on the main
 * thread from the key files (skydns/config/dnssec_files.h), referenced by a configuration
 * (engine_config.h), and shared by all threads. Keys never change, and cached signatures are read
 * without a lock while others are added. New keys make a new struct dnssec, which begins without
 * signatures.
 *
 * A signature belongs to the content of an RRset, not to a name. Changed records are another RRset,
 * whose old signature is never found again and makes room for others.
 *
 * A client that asks for many names cannot harm the others. Threads that others wait for only look
 * up signatures (may_make false), memory is fixed by -scache, and signatures used once push out
 * each other before those used again. */
#ifndef SKYDNS_DNSSEC_DNSSEC_H
#define SKYDNS_DNSSEC_DNSSEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/metrics.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "skydns/dnssec/signing_key.h"

enum {
    DNSSEC_KEYS_MAX = 64,               /* of all zones */
    DNSSEC_ZONE_KEYS_MAX = 8,           /* of one: two rollovers at once */
    DNSSEC_SIGNATURES_MAX = 1000000,    /* of -scache */
    DNSSEC_BEGAN_S = 3 * 60 * 60,       /* before now: clocks differ */
    DNSSEC_ENDS_S = 7 * 24 * 60 * 60,   /* after now */
    DNSSEC_RENEW_S = DNSSEC_ENDS_S / 2, /* after a signature was made, another is */
    /* Age from which a signature is given no more: a validator keeps nothing beyond a signature's
     * end, and a day is the longest that common resolvers keep records. */
    DNSSEC_LAST_S = DNSSEC_ENDS_S - 24 * 60 * 60,
    DNSSEC_RENEW_AGAIN_S = 10, /* one that is to be renewed is MISSING to one caller in this time */
    /* Room for the fields, the signer's name and the signature. */
    DNSSEC_RRSIG_MAX = 18 + DNAME_MAX + SIGNING_KEY_SIGNATURE_MAX,
};

/* Records of a zone's apex that come from its keys, in canonical order (RFC 4034 6.3). */
struct dnssec_apex_set {
    uint32_t ttl_s; /* the smallest of the key files'; 0: the server's own */
    size_t count;
    struct slice rdata[DNSSEC_ZONE_KEYS_MAX];
};

struct dnssec_zone {
    struct dname name; /* lower case: the keys' owner */
    unsigned labels;
    size_t key_count;
    struct signing_key *keys[DNSSEC_ZONE_KEYS_MAX];
    bool has_both; /* keys with and without the SEP bit: the former sign the keys, CDS and CDNSKEY
                    * only, the latter everything else; otherwise each signs everything */
    struct dnssec_apex_set dnskey, cds, cdnskey;
    struct dnssec_apex_set ds; /* the same data as cds: what the parent should have; CDS, CDNSKEY
                                * and DS list SEP keys, or all if none has the bit */
};

struct dnssec;

/* Makes it, with one reference, and takes the keys over, at most DNSSEC_KEYS_MAX. On failure they
 * stay the caller's: too many, too many of a zone, or one twice. Takes memory for signatures_max
 * signatures, from 1 to DNSSEC_SIGNATURES_MAX, of the longest that these keys make, and about 100
 * bytes more for each; touched only as it is used. Main thread. */
int dnssec_new(struct signing_key *const *keys, size_t count, size_t signatures_max,
               struct dnssec **ret_dnssec, struct err *err) MUST_CHECK;
struct dnssec *dnssec_ref(struct dnssec *dnssec);
void dnssec_unref(struct dnssec *dnssec); /* any thread; NULL is fine */

/* Return the zones, longest name first; borrowed. */
size_t dnssec_zone_count(const struct dnssec *dnssec);
const struct dnssec_zone *dnssec_zone_at(const struct dnssec *dnssec, size_t i);

/* Returns the longest zone that contains a lower-cased name, or NULL. The caller must know whether
 * a zone without keys, or another's, lies between. */
const struct dnssec_zone *dnssec_zone_of(const struct dnssec *dnssec, const struct dname *name);

/* RRset in canonical form: RFC 4034 6.2, 6.3. */
struct dnssec_rrset {
    struct slice owner; /* lower case, wire form */
    uint16_t type;
    uint32_t ttl_s;
    size_t count;              /* at least one */
    const struct slice *rdata; /* names in them lower case and whole; dnssec_sort's order */
};

/* Sorts data into canonical order and drops repeated ones; returns how many are left. Pure. */
size_t dnssec_sort(struct slice *rdata, size_t count);

struct dnssec_signature {
    size_t len;
    uint8_t rdata[DNSSEC_RRSIG_MAX]; /* of the RRSIG: RFC 4034 3.1 */
};

enum dnssec_outcome {
    DNSSEC_SIGNED,
    /* No cached signature is young enough and valid yet, and may_make was false. So too, for one
     * caller, if a signature is to be renewed: that caller has another made, while others get the
     * old one. So nobody waits for renewals behind a flood of new signatures, and a refused renewal
     * is tried again. */
    DNSSEC_MISSING,
    DNSSEC_FAILED, /* libcrypto failed, and the log says so: once a minute */
};

/* Returns the signatures of each of the zone's keys that signs this type; valid at now_s, which is
 * the wall clock. With may_make, makes and caches those that are missing or to be renewed; without,
 * takes no lock and allocates nothing. Any thread. `zone` is one of this dnssec's. */
enum dnssec_outcome dnssec_sign(struct dnssec *dnssec, const struct dnssec_zone *zone,
                                const struct dnssec_rrset *rrset, int64_t now_s, bool may_make,
                                struct dnssec_signature signatures[DNSSEC_ZONE_KEYS_MAX],
                                size_t *ret_count) MUST_CHECK;

/* Figures for metrics; any thread. The counters go on over all of a process's struct dnssec. */
struct dnssec_figures {
    uint64_t cached, cached_max;   /* signatures now */
    uint64_t made, reused, failed; /* since the process started; reused: found and given */
    uint64_t made_us;              /* CPU time of making */
    int64_t first_end_s; /* the earliest end of what a reply has had in this minute of the wall
                          * clock or the one before; 0: none. It is about DNSSEC_ENDS_S -
                          * DNSSEC_RENEW_S ahead, or more, unless signing fails */
};
struct dnssec_figures dnssec_figures(const struct dnssec *dnssec); /* NULL: what others counted */

/* Returns when the cached signature of the RRset by the zone's i-th key ends, for /explain, without
 * counting as use. 0: none is cached, -1: that key does not sign this type. */
int64_t dnssec_peek(const struct dnssec *dnssec, const struct dnssec_zone *zone, size_t key,
                    const struct dnssec_rrset *rrset);

/* Writes the text of -print-ds, which a zone's parent should have: a line `OWNER TTL IN DS TAG
 * ALGORITHM 2 HEX` for each DS record, zone by zone. The TTL is the smallest of the zone's key
 * files, as those of an RRset are the same (RFC 2181 5.2), or default_ttl_s if they have none. Sets
 * out->failed if it does not fit: DS_TEXT_MAX is enough. */
void ds_text(const struct dnssec *dnssec, uint32_t default_ttl_s, struct buf *out);

/* Each line has the owner, " 4294967295 IN DS 65535 255 2 ", 64 digits and a newline. */
enum { DS_TEXT_MAX = DNSSEC_KEYS_MAX * (DNAME_TEXT_MAX + 96) };

#endif
