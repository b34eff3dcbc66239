/* The zones of -reverse-zones by name: what else than domains can have keys. Pure; any thread. */
#ifndef SKYDNS_ANSWER_REVERSE_ZONE_H
#define SKYDNS_ANSWER_REVERSE_ZONE_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/dns/dname.h"

struct engine_config;
struct network;

/* Whether such a zone begins at the lower-cased name, as answers have it: at a whole octet (or
 * nibble), in the first network of the list that contains it. */
bool reverse_zone_is_apex(const struct engine_config *config, const struct dname *name);

/* The apex of a network that ends at a whole octet (or nibble): 10.96.0.0/16 is
 * 96.10.in-addr.arpa. False: it does not, and is several zones. */
bool reverse_zone_apex(const struct network *network, struct dname *ret_apex) MUST_CHECK;

#endif
