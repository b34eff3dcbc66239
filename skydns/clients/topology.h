/* Finds the zones of a headless Service's addresses, by the Service's name.
 *
 * For answers with the nearest ones (-topology=marked):
 *
 *     topology/<namespace>/<service> --main thread--> blocks by name --> every answering thread
 *
 * Filled by the main thread from etcd's events (skydns/sync/topology_keys_internal.h). Readers see
 * each change at once, or not yet, never half, without a lock or a wait. A replaced block goes to
 * `retire` of client_index.h, whose index has this table. It has no limit of its own. */
#ifndef SKYDNS_CLIENTS_TOPOLOGY_H
#define SKYDNS_CLIENTS_TOPOLOGY_H

#include <stddef.h>

#include "common/base/slice.h"
#include "skydns/clients/topology_service.h"

/* The values of -topology. */
#define TOPOLOGY_CHOICES "off|marked"

struct client_index_config;
struct topology;

struct topology *topology_new(const struct client_index_config *config); /* the index's; copied */
void topology_free(struct topology *topology); /* no reader is left; NULL is fine */

/* Set the Service's block, owned from now on, in place of that of its name; and remove that. Main
 * thread, for client_index.c, which knows the zones' names. */
void topology_put(struct topology *topology, struct topology_service *service);
void topology_remove(struct topology *topology, struct slice name);

size_t topology_count(const struct topology *topology);

/* Returns the block of a name in wire form and lower case; NULL: there is none. Valid until
 * publisher_leave. Any thread. */
const struct topology_service *topology_find(const struct topology *topology, struct slice name);

#endif
