/* Proves that a name or a type does not exist: minimally covering NSEC records (RFC 4470). No
 * record of ours covers a name that exists. For answer_signer.c; that engine's thread only. */
#ifndef SKYDNS_SIGN_SIGNED_DENIAL_INTERNAL_H
#define SKYDNS_SIGN_SIGNED_DENIAL_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/answer/name_facts.h"
#include "skydns/dnssec/nsec.h"
#include "skydns/sign/signed_zones.h"

struct signed_nsec {
    struct dname owner;
    size_t len;
    uint8_t data[DNAME_MAX + NSEC_BITMAP_MAX];
};

/* The records for the name, and for the wildcard that would answer for it. */
enum { SIGNED_NSECS_MAX = 2 };

struct signed_denial {
    const struct signed_zones *zones;
    struct name_facts *facts;
    const struct dnssec_zone *keys; /* the keys of the zone that denies */
    struct dname name;              /* the denied name: in lower case, in that zone */
    uint16_t type;                  /* the question's */

    size_t count;
    struct signed_nsec nsecs[SIGNED_NSECS_MAX];
};

/* Returns whether `name`, the end of CNAMEs, must not be denied, although the answer code found
 * nothing there: it does not follow CNAMEs to a zone's keys and its DS, nor to local.dns. A proof
 * would be wrong, and resolvers would cache it for clients that ask about the name itself. The
 * CNAMEs alone send them there. `is_of_name`: the answer denies the name, not the type. */
enum name_fact signed_denial_is_open(struct signed_denial *denial, bool is_of_name);

/* Make the records, and return NAME_FACT_YES. The first: `name` does not exist; */
enum name_fact signed_denial_of_name(struct signed_denial *denial);
/* the second: it has nothing of the type. */
enum name_fact signed_denial_of_type(struct signed_denial *denial);

#endif
