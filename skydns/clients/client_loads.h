/* How many places of something limited each client has, so that one cannot take all of them: it
 * gets no further place when it has as many as are free, so that alone it may have half, two may
 * have a third each, and there is always one for another. A client is what client_net.h says. As
 * many entries as places taken at most, 0.1 KB each. Single-threaded. */
#ifndef SKYDNS_CLIENTS_CLIENT_LOADS_H
#define SKYDNS_CLIENTS_CLIENT_LOADS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"

struct client_loads;

struct client_loads *client_loads_new(void);
void client_loads_free(struct client_loads *loads); /* NULL is fine */

/* One more; returns how many there are now. */
size_t client_loads_add(struct client_loads *loads, const struct addr *client);

/* The same, if it has fewer than are free: false, and no change, if not. */
bool client_loads_take(struct client_loads *loads, const struct addr *client,
                       size_t free_places) MUST_CHECK;

/* One less, of those added or taken. */
void client_loads_drop(struct client_loads *loads, const struct addr *client);

#endif
