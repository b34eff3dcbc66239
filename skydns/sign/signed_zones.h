/* Finds the zone of a name, and the keys that sign it: the longest of our domains, of the stub
 * zones below them and of the reverse zones.
 *
 * A zone without keys of its own within a signed one is an insecure delegation. For signed_*.c and
 * the rule about search lists; that engine's thread only. */
#ifndef SKYDNS_SIGN_SIGNED_ZONES_H
#define SKYDNS_SIGN_SIGNED_ZONES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/dnssec/dnssec.h"
#include "skydns/publish/engine_config.h"

struct signed_zones {
    const struct engine_config *config;                  /* borrowed; with dnssec */
    const struct dnssec_zone *domains[ENGINE_ZONES_MAX]; /* of each domain; NULL: unsigned */
};

void signed_zones_configure(struct signed_zones *zones, const struct engine_config *config);

struct signed_place {
    bool is_ours;    /* false: a stub zone's name, or an external one */
    uint8_t apex_at; /* offset in the name at which its zone's name begins; of an external name, its
                      * length */
    const struct dnssec_zone *keys; /* its keys; NULL: unsigned */
};

/* Finds the place of a lower-cased name. */
struct signed_place signed_zones_find(const struct signed_zones *zones, const struct dname *name);

/* Returns whether a lower-cased name is the apex of a zone, ours or a stub zone, within a signed
 * one of ours, and sets both. The signed zone knows that it exists and what its DS is. */
bool signed_zones_is_cut(const struct signed_zones *zones, const struct dname *name,
                         struct signed_place *ret_place, struct signed_place *ret_parent);

/* Returns the keys that sign the records of a type at a lower-cased name: DS is the parent's (RFC
 * 4034 5). NULL: none do. */
const struct dnssec_zone *signed_zones_keys(const struct signed_zones *zones,
                                            const struct dname *name, uint16_t type);

/* Returns the keys of a domain. NULL: it is unsigned, as all are without `dnssec`. Any thread. */
const struct dnssec_zone *signed_zones_domain(const struct engine_config *config,
                                              const struct engine_zone *domain);

#endif
