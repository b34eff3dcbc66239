/* Finds which zone has a name, and the keys that sign it: the longest of our domains, of the stub
 * zones below them and of the reverse zones. A zone without keys of its own within a signed one is
 * an insecure delegation. For signed_*.c and the rule about search paths; that engine's thread
 * only. */
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
    bool is_ours;                   /* false: a stub zone's, or another domain's */
    uint8_t apex_at;                /* in the name: where its zone's name begins; of another domain,
                                     * behind it */
    const struct dnssec_zone *keys; /* what signs it; NULL: nothing */
};

/* Of a lower-cased name. */
struct signed_place signed_zones_find(const struct signed_zones *zones, const struct dname *name);

/* Whether a lower-cased name is the apex of a zone, ours or a stub zone, within a signed one of
 * ours, which knows that it exists and what its DS is; then that zone. */
bool signed_zones_is_cut(const struct signed_zones *zones, const struct dname *name,
                         struct signed_place *ret_place, struct signed_place *ret_parent);

/* What signs the records of a type at a lower-cased name: DS is the parent's (RFC 4034 5). NULL:
 * nothing. */
const struct dnssec_zone *signed_zones_keys(const struct signed_zones *zones,
                                            const struct dname *name, uint16_t type);

/* The keys of a domain; NULL: it is unsigned, as all are without `dnssec`. Any thread. */
const struct dnssec_zone *signed_zones_domain(const struct engine_config *config,
                                              const struct engine_zone *domain);

#endif
