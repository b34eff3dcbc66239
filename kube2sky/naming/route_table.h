/* Holds the Ingresses, Gateways and HTTPRoutes, and claims their names for Services. A name is
 * claimed in external_aliases.h, for the Service that --ingress or --gateway says (route_rules.h).
 * Until all objects of the kinds that may lead to a Service have been listed, its names are held:
 * none is removed. A malformed object counts as its last well-formed state.
 *
 * Pure data, no I/O; single-threaded, fed by kube_source.c, which owns none of it. */
#ifndef KUBE2SKY_NAMING_ROUTE_TABLE_H
#define KUBE2SKY_NAMING_ROUTE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "kube2sky/api/kube_object.h"

struct external_aliases;
struct route_rules;
struct route_table;

/* Returns whether objects of the kind go here, not into the inventory. */
static inline bool route_table_has_kind(enum kube_kind kind)
{
    return kind == KUBE_INGRESS || kind == KUBE_GATEWAY || kind == KUBE_ROUTE;
}

/* Makes an empty table; `rules` and `aliases` outlive it. list_counts: how many lists each kind
 * has, one for each namespace, or one for all. */
struct route_table *route_table_new(const struct route_rules *rules,
                                    struct external_aliases *aliases,
                                    const size_t list_counts[KUBE_KIND_COUNT]);
void route_table_free(struct route_table *table); /* NULL is fine */

/* Take a reflector's events (reflector.h). A list's ns is "" if it has all namespaces. upsert owns
 * the object. */
void route_table_list_begin(struct route_table *table, enum kube_kind kind, const char *ns);
void route_table_upsert(struct route_table *table, struct kube_object *object);
void route_table_remove(struct route_table *table, enum kube_kind kind, const char *ns,
                        const char *name);
void route_table_list_end(struct route_table *table, enum kube_kind kind, const char *ns);

/* Returns the faults of the object's last state, borrowed; "" if there are none. */
const char *route_table_faults(const struct route_table *table, const struct kube_object *object);

/* Returns an object's last state, borrowed until the next change; NULL: unknown. */
const struct kube_object *route_table_find(const struct route_table *table, enum kube_kind kind,
                                           const char *ns, const char *name);

size_t route_table_count(const struct route_table *table, enum kube_kind kind);

#endif
