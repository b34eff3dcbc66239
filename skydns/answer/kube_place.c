#include "skydns/answer/kube_place.h"

#include "common/dns/dns.h"
#include "skydns/records/rr.h"

enum kube_place kube_place_at(enum kube_tree tree, unsigned depth, bool is_protocol_underscored)
{
    enum { SERVICE_DEPTH = KUBE_PROTOCOL_DEPTH - 1, PORT_DEPTH = KUBE_PROTOCOL_DEPTH + 1 };
    if (depth == 0) {
        return KUBE_DOMAIN;
    }
    if (tree == KUBE_TREE_OTHER) {
        return KUBE_OTHER;
    }
    if (depth < SERVICE_DEPTH) {
        return KUBE_ABOVE;
    }
    if (tree == KUBE_TREE_POD) {
        return KUBE_ENDPOINT;
    }
    if (depth == SERVICE_DEPTH) {
        return KUBE_SERVICE;
    }
    if (!is_protocol_underscored) {
        return KUBE_ENDPOINT;
    }
    return depth == KUBE_PROTOCOL_DEPTH ? KUBE_PROTOCOL
           : depth == PORT_DEPTH        ? KUBE_PORT
                                        : KUBE_BELOW_PORT;
}

enum kube_place kube_place_of(const struct engine_zone *zone, const struct dname *name)
{
    struct dname_labels labels;
    dname_labels(name, &labels);
    unsigned depth = labels.count - zone->labels;
    if (depth == 0) {
        return KUBE_DOMAIN;
    }
    enum kube_tree tree = kube_tree_of(dname_label(name, labels.offsets[depth - 1]));
    bool is_underscored =
        depth >= KUBE_PROTOCOL_DEPTH &&
        dname_label(name, labels.offsets[depth - KUBE_PROTOCOL_DEPTH]).ptr[0] == '_';
    return kube_place_at(tree, depth, is_underscored);
}

/* The places that may have the type, a bit each. A service's records are its addresses, its ports'
 * are SRV, and nothing else below them is; names above them have none. */
static unsigned places_with(uint16_t number)
{
    enum {
        ANYWHERE = 1u << KUBE_SERVICE | 1u << KUBE_OTHER,
        ENDPOINTS = 1u << KUBE_ENDPOINT,
    };
    switch (number) {
    case DNS_TYPE_SRV: /* an endpoint's would have port 0 */
        return ANYWHERE | 1u << KUBE_PORT | 1u << KUBE_BELOW_PORT;
    case DNS_TYPE_SOA:
    case DNS_TYPE_NS:
        return ANYWHERE | ENDPOINTS | 1u << KUBE_DOMAIN;
    default:
        return ANYWHERE | ENDPOINTS;
    }
}

bool kube_place_has_data(enum kube_place place, uint16_t type)
{
    return places_with(type) >> place & 1;
}

bool kube_place_lists_ports(enum kube_place place, uint16_t type)
{
    return place == KUBE_SERVICE && type == DNS_TYPE_SRV;
}

bool kube_has_data(const struct engine_zone *zone, const struct dname *name, uint16_t type)
{
    return kube_place_has_data(kube_place_of(zone, name), type);
}
