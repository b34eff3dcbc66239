/* Names that this server answers itself because every server should (RFC 6761, 7686, 9462): no
 * upstream is asked about them, unless the operator has made a stub zone at or below one. Called
 * for external names by answer_external.c, follow.c and /explain. Pure; any thread. */
#ifndef SKYDNS_ANSWER_SPECIAL_NAMES_H
#define SKYDNS_ANSWER_SPECIAL_NAMES_H

#include "common/dns/dname.h"

struct forward_zone;

enum special_kind {
    SPECIAL_NONE,      /* an ordinary name */
    SPECIAL_LOCALHOST, /* localhost. and below: 127.0.0.1 and ::1 */
    SPECIAL_POINTER,   /* the reverse names of these two: localhost. */
    SPECIAL_DENIED,    /* invalid., onion. and below: NXDOMAIN */
    SPECIAL_NO_DATA,   /* resolver.arpa. and below: it would tell clients of upstream's resolver */
};

/* Seconds that their records, and their denials, may be kept. */
enum { SPECIAL_TTL_S = 300 };

/* 127.0.0.1 and ::1 */
extern const uint8_t special_ipv4[4];
extern const uint8_t special_ipv6[16];

/* Returns the kind of a lower-cased external name. `zone`: its upstreams would be queried; may be
 * NULL. */
enum special_kind special_name_find(const struct dname *name, const struct forward_zone *zone);

/* localhost. in wire form. */
struct slice special_name_localhost(void);

#endif
