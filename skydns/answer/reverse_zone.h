/* The zones of -reverse-zones by name: what else than domains can have keys. Pure; any thread. */
#ifndef SKYDNS_ANSWER_REVERSE_ZONE_H
#define SKYDNS_ANSWER_REVERSE_ZONE_H

#include <stdbool.h>

#include "common/dns/dname.h"

struct engine_config;

/* Whether such a zone begins at the lower-cased name, as answers have it: at a whole octet (or
 * nibble), in the first network of the list that contains it. */
bool reverse_zone_is_apex(const struct engine_config *config, const struct dname *name);

#endif
