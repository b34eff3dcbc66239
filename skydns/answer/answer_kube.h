/* Tells what a name below a domain means in Kubernetes' DNS specification 1.1.0, by its labels
 * alone. It also tells which types of records the name may have.
 *
 * With -schema=kubernetes, answer_kube.c answers by it, follow.c follows targets by it, and
 * plain_names.h prepares the fast path by it. Pure; any thread. */
#ifndef SKYDNS_ANSWER_ANSWER_KUBE_H
#define SKYDNS_ANSWER_ANSWER_KUBE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "skydns/publish/engine_config.h"

enum kube_place {
    KUBE_DOMAIN,     /* <domain> */
    KUBE_ABOVE,      /* svc, pod, <namespace>.svc, <namespace>.pod: between domain and records */
    KUBE_SERVICE,    /* <service>.<namespace>.svc */
    KUBE_ENDPOINT,   /* <label>.<service>.<namespace>.svc, and the names of pods */
    KUBE_PROTOCOL,   /* _tcp.<service>... */
    KUBE_PORT,       /* _http._tcp.<service>... */
    KUBE_BELOW_PORT, /* <label>._http._tcp.<service>... */
    KUBE_OTHER,      /* not in the specification */
};

/* The tree that a name is in, by the label in front of the domain. */
enum kube_tree { KUBE_TREE_SVC, KUBE_TREE_POD, KUBE_TREE_OTHER, KUBE_TREES };

static inline enum kube_tree kube_tree_of(struct slice label)
{
    if (label.len == 3 && memcmp(label.ptr, "svc", 3) == 0) {
        return KUBE_TREE_SVC;
    }
    return label.len == 3 && memcmp(label.ptr, "pod", 3) == 0 ? KUBE_TREE_POD : KUBE_TREE_OTHER;
}

/* The tree of a zone's name with this label in front of the zone, and its depth in the trees of a
 * domain. Names of an external zone are as those below svc, one label deeper than they are; its
 * label `dns` has the zone's own names, as in other domains. */
static inline enum kube_tree kube_zone_tree(const struct engine_zone *zone, struct slice label)
{
    return !zone->is_external                                   ? kube_tree_of(label)
           : label.len == 3 && memcmp(label.ptr, "dns", 3) == 0 ? KUBE_TREE_OTHER
                                                                : KUBE_TREE_SVC;
}

static inline unsigned kube_zone_depth(const struct engine_zone *zone, unsigned depth)
{
    return depth + zone->is_external;
}

/* Returns the place of a name with `depth` labels in front of the domain. The label at
 * KUBE_PROTOCOL_DEPTH, counted from the domain, tells a protocol from an endpoint. From
 * KUBE_DEPTH_MAX on, depth makes no difference. */
enum { KUBE_PROTOCOL_DEPTH = 4, KUBE_DEPTH_MAX = 6 };
enum kube_place kube_place_at(enum kube_tree tree, unsigned depth, bool is_protocol_underscored);

/* Returns the place of a lower-cased name of the zone. */
enum kube_place kube_place_of(const struct engine_zone *zone, const struct dname *name);

/* Returns whether the schema lets a name at the place have records of the type. */
bool kube_place_has_data(enum kube_place place, uint16_t type);

/* Returns whether the question is SRV at a service's own name, which the named ports below it
 * answer. */
bool kube_place_lists_ports(enum kube_place place, uint16_t type);

/* Returns whether -schema=kubernetes lets a lower-cased name of the zone have records of the type.
 */
bool kube_has_data(const struct engine_zone *zone, const struct dname *name, uint16_t type);

#endif
