/* Reverse names, as much of an address as each gives, and the zones of -reverse-zones that they are
 * in: what else than domains can have keys. Pure; any thread. */
#ifndef SKYDNS_PUBLISH_REVERSE_ZONE_H
#define SKYDNS_PUBLISH_REVERSE_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/dns/dname.h"

struct engine_config;
struct network;

/* Reverse names are in one of these two. */
extern const struct dname reverse_zone_in_addr_arpa, reverse_zone_ip6_arpa;
bool reverse_zone_is_reverse(const struct dname *name);

/* How names spell an address. */
struct reversed_form {
    uint8_t family_bytes;
    uint8_t label_bits;
    unsigned suffix_labels;
};

/* As much of an address as the name gives. */
struct reversed {
    const struct reversed_form *form;
    struct dname_labels labels;
    unsigned said; /* labels read into `bytes` */
    uint8_t bytes[16];
};

/* The name is lower-cased, and is_reverse. */
void reversed_read(const struct dname *name, struct reversed *r);

/* The address that the name spells, whole. */
bool reversed_address(const struct reversed *r, struct ip *ret) MUST_CHECK;

/* How many labels of the address the zone's name has, if the name is in a zone of ours; else -1.
 * *ret_index: which of the configuration's it is. */
int reversed_find_zone(const struct engine_config *config, const struct reversed *r,
                       size_t *ret_index);

/* Where the name of a zone with `apex` labels of the address begins in the name. */
static inline unsigned reversed_zone_at(const struct reversed *r, unsigned apex)
{
    return r->labels.offsets[r->labels.count - r->form->suffix_labels - apex];
}

/* The offset in a lower-cased reverse name where the name of its zone begins, among those of
 * -reverse-zones; false: none has it. */
bool reverse_zone_find(const struct engine_config *config, const struct dname *name,
                       unsigned *ret_at) MUST_CHECK;

/* Whether such a zone begins at the lower-cased name, as answers have it: at a whole octet (or
 * nibble), in the first network of the list that contains it. */
bool reverse_zone_is_apex(const struct engine_config *config, const struct dname *name);

/* The apex of a network that ends at a whole octet (or nibble): 10.96.0.0/16 is
 * 96.10.in-addr.arpa. False: it does not, and is several zones. */
bool reverse_zone_apex(const struct network *network, struct dname *ret_apex) MUST_CHECK;

#endif
