/* How many deferred queries of each client the resolver has in hand, or has external names of to
 * look up, whatever they came over, so that one client cannot take all places. As many entries as
 * queries in hand at most, 0.1 KB each. Only on the resolver's thread. */
#ifndef SKYDNS_RESOLVER_CLIENT_LOADS_INTERNAL_H
#define SKYDNS_RESOLVER_CLIENT_LOADS_INTERNAL_H

#include <stddef.h>

#include "common/base/addr.h"

struct client_loads;

struct client_loads *client_loads_new(void);
void client_loads_free(struct client_loads *loads); /* NULL is fine */

/* One more; returns how many there are now. */
size_t client_loads_add(struct client_loads *loads, const struct addr *client);

/* One less, of those added. */
void client_loads_drop(struct client_loads *loads, const struct addr *client);

#endif
