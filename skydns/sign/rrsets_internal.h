/* Groups a section's records into RRsets, in the order of their first ones. It also writes the form
 * that is signed (RFC 4034 6). Pure; it allocates nothing. */
#ifndef SKYDNS_SIGN_RRSETS_INTERNAL_H
#define SKYDNS_SIGN_RRSETS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"
#include "skydns/dnssec/dnssec.h"
#include "skydns/records/rr.h"
#include "skydns/wire/answer_plan.h"

enum {
    /* Bounds the RRsets: those that fit a message with a signature each: an address, and an RRSIG
     * of ECDSA P-256 by a zone of one letter. */
    RRSETS_MAX = DNS_MESSAGE_MAX / (16 + 12 + 18 + 3 + 64),
    RRSETS_END = UINT16_MAX, /* of a chain of records */
};

struct rrset {
    struct slice owner; /* the first record's */
    enum rr_type type;
    uint32_t owner_hash;
    uint32_t ttl_s;       /* the smallest of its records' */
    uint16_t first, last; /* of its records, linked by `next` */
    uint16_t count;
    const struct dnssec_zone *keys; /* its keys: set by the caller */
};

struct rrsets {
    const struct rr *rrs; /* borrowed */
    size_t record_count;
    size_t count;
    struct rrset items[RRSETS_MAX];
    uint16_t next[RR_LIST_MAX];
};

/* Groups at most RR_LIST_MAX records. Returns false when there are more RRsets than fit a message.
 */
bool rrsets_find(struct rrsets *sets, const struct rr *rrs, size_t count) MUST_CHECK;

/* Returns the RRset of a name and type. NULL: there is none. */
const struct rrset *rrsets_of_name(const struct rrsets *sets, struct slice owner,
                                   enum rr_type type);

/* Gives the records of each RRset one TTL (RFC 2181 5.2). `rrs` are those of rrsets_find. */
void rrsets_level_ttls(const struct rrsets *sets, struct rr *rrs);

/* Room for one RRset's canonical form. */
struct rrset_scratch {
    struct slice data[RR_LIST_MAX];
    uint8_t bytes[RR_LIST_MAX * (6 + DNAME_MAX)]; /* of records that have names, or texts */
};

/* Returns the canonical form. It is valid as long as the records, the scratch and `owner` are;
 * `owner` is in lower case. */
struct dnssec_rrset rrsets_canonical(const struct rrsets *sets, const struct rrset *set,
                                     const struct dname *owner, const struct answer_soa *soa,
                                     struct rrset_scratch *scratch);

#endif
