/* Lists the names that every server should answer itself (RFC 6761, 7686, 9462). No upstream is
 * queried for them, unless the operator has made a stub zone at or below one. Called for external
 * names by answer_external.c, follow.c and /explain. Pure; any thread. */
#ifndef SKYDNS_ANSWER_SPECIAL_NAMES_H
#define SKYDNS_ANSWER_SPECIAL_NAMES_H

#include "common/dns/dname.h"

struct forward_zone;

enum special_kind {
    SPECIAL_NONE,      /* an ordinary name */
    SPECIAL_LOCALHOST, /* localhost. and below: 127.0.0.1 and ::1 */
    SPECIAL_POINTER,   /* the reverse names of these two addresses: PTR localhost. */
    SPECIAL_DENIED,    /* invalid., onion. and below: NXDOMAIN */
    SPECIAL_NO_DATA,   /* resolver.arpa. and below: an upstream would name itself to our clients */
};

/* Seconds that clients may cache their records and denials. */
enum { SPECIAL_TTL_S = 300 };

/* The addresses of localhost: 127.0.0.1 and ::1. */
extern const uint8_t special_ipv4[4];
extern const uint8_t special_ipv6[16];

/* Returns the kind of a lower-cased external name. `zone`: the zone whose upstreams are responsible
 * for the name; NULL: none. */
enum special_kind special_name_find(const struct dname *name, const struct forward_zone *zone);

/* Returns `localhost.` in wire form. */
struct slice special_name_localhost(void);

#endif
