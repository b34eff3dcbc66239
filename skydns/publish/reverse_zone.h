/* Reads the address in a reverse name, as much of it as the name gives, and finds its zone among
 * -reverse-zones. Besides domains, only these zones can have keys. Pure; any thread. */
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

/* Every reverse name is in one of these two zones. */
extern const struct dname reverse_zone_in_addr_arpa, reverse_zone_ip6_arpa;
bool reverse_zone_is_reverse(const struct dname *name);

/* The form in which names spell an address. */
struct reversed_form {
    uint8_t family_bytes;
    uint8_t label_bits;
    unsigned suffix_labels;
};

/* The part of an address that a name gives. */
struct reversed {
    const struct reversed_form *form;
    struct dname_labels labels;
    unsigned said; /* labels read into `bytes` */
    uint8_t bytes[16];
};

/* Reads the name, which is lower-cased and a reverse name. */
void reversed_read(const struct dname *name, struct reversed *r);

/* Sets *ret to the address that the name spells. Returns false when it is not whole. */
bool reversed_address(const struct reversed *r, struct ip *ret) MUST_CHECK;

/* Returns how many labels of the address the zone's name has, if the name is in a zone of ours;
 * else -1. Sets *ret_index to the zone's index in the configuration. */
int reversed_find_zone(const struct engine_config *config, const struct reversed *r,
                       size_t *ret_index);

/* Returns the offset in the name at which a zone begins whose name has `apex` labels of the
 * address. */
static inline unsigned reversed_zone_at(const struct reversed *r, unsigned apex)
{
    return r->labels.offsets[r->labels.count - r->form->suffix_labels - apex];
}

/* Finds the offset in a lower-cased reverse name at which its zone's name begins, among those of
 * -reverse-zones. Returns false when none has it. */
bool reverse_zone_find(const struct engine_config *config, const struct dname *name,
                       unsigned *ret_at) MUST_CHECK;

/* Returns whether such a zone begins at the lower-cased name, as answers have it: at a whole octet
 * (or nibble), in the first network of the list that contains it. */
bool reverse_zone_is_apex(const struct engine_config *config, const struct dname *name);

/* Makes the apex of a network that ends at a whole octet (or nibble): 10.96.0.0/16 is
 * 96.10.in-addr.arpa. Returns false when it does not, and is several zones. */
bool reverse_zone_apex(const struct network *network, struct dname *ret_apex) MUST_CHECK;

#endif
