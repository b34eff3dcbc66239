/* Says in which zone each address of a marked headless Service is (--topology):
 *
 *     /kube2sky/<domain>/topology/prod/web  {"10.1.0.5":"eu-1a","10.1.0.6":"eu-1b"}
 *
 * for the addresses that the Service has records of. One whose slice names no zone, or one that is
 * no label value, is left out: it is near every client. Marked is a Service whose
 * trafficDistribution prefers the zone, or the node, and that does not publish addresses that are
 * not ready: those are for its own pods, which look for each other. PURE. */
#ifndef KUBE2SKY_NAMING_TOPOLOGY_VALUE_H
#define KUBE2SKY_NAMING_TOPOLOGY_VALUE_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "kube2sky/naming/owner_objects.h"

/* Limits a value, as skydns does: 9,000 IPv4 addresses. A Service that has more gets no key. Each
 * change of an address writes the whole value. */
enum { TOPOLOGY_VALUE_MAX = 256 * 1024 };

enum topology_value {
    TOPOLOGY_VALUE_NONE, /* it is not marked, or no zone is known */
    TOPOLOGY_VALUE_WANTED,
    TOPOLOGY_VALUE_TOO_LONG,
};

/* Returns whether the Service is marked; NULL: it is absent. */
bool topology_value_is_marked(const struct kube_object *service);

/* Sets `out` to the value of a svc/ owner's objects. Equal objects have equal values, in whatever
 * order they came. */
enum topology_value topology_value_build(const struct owner_objects *objects, struct buf *out);

#endif
