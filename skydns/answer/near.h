/* Tells which addresses of a headless Service are near a client (-topology=marked): those in its
 * zone, and those whose zone is not known.
 *
 * An answer has only the near ones of each family, and only targets with near addresses, if there
 * are any, else all. The fast path and the slow path share these rules. near.c reads the record
 * store itself, below names that the view has shown. Pure; any thread, between publisher_enter and
 * publisher_leave. */
#ifndef SKYDNS_ANSWER_NEAR_H
#define SKYDNS_ANSWER_NEAR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "skydns/clients/client_record.h"
#include "skydns/clients/topology.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/store.h"

/* Says which addresses of one Service a client's answer may leave out. */
struct near {
    const struct topology_service *service; /* NULL: nothing */
    uint8_t zone;                           /* the client's, by the Service's numbers */
};

/* Returns the Service of a name in wire form and lower case: its own, or that of a port or protocol
 * below it, with labels like `_http`; NULL: its zones are not known. */
const struct topology_service *near_service(const struct topology *topology, struct slice name);

/* Finds what is near: nothing if the Service has no endpoint in the client's zone. zone: the
 * client's; NULL: not known. */
struct near near_find(const struct topology *topology, const struct client_name *zone,
                      struct slice name);

/* Does the same for a configuration, at no cost without the setting. */
static inline struct near near_of(const struct engine_config *config,
                                  const struct client_name *zone, struct slice name)
{
    return config->topology && zone ? near_find(config->topology, zone, name)
                                    : (struct near){.service = NULL};
}

/* Returns whether an address, in 4 or 16 bytes, is near. */
static inline bool near_has(const struct near *near, const uint8_t *bytes, unsigned family_bytes)
{
    return topology_service_is_near(near->service, near->zone, bytes, family_bytes);
}

/* Returns the node of the Service, below which its targets are; NULL: there is none. */
const struct store_node *near_node(const struct near *near, const struct store *store);

/* Returns whether a target in wire form is near: some address of it, or it is no name of one of the
 * Service's endpoints. `node`: near_node's. */
bool near_has_target(const struct near *near, const struct store_node *node, struct slice target);

/* The ways in which a record may be near; each is judged by itself. */
enum near_kind { NEAR_V4, NEAR_V6, NEAR_TARGET, NEAR_OTHER, NEAR_KINDS };

/* Returns the record's kind, and whether it is near; NEAR_OTHER always is. */
enum near_kind near_judge(const struct near *near, const struct store_node *node,
                          const struct store_record *record, bool *ret_is_near);

#endif
