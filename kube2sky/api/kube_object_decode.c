#include "kube2sky/api/kube_object_decode_internal.h"

#include <string.h>

#include "common/base/utc_time.h"
#include "common/base/xalloc.h"
#include "kube2sky/api/fields_internal.h"

#define TOLERATE_UNREADY_ANNOTATION "service.alpha.kubernetes.io/tolerate-unready-endpoints"
#define SERVICE_NAME_LABEL          "kubernetes.io/service-name"
#define IMPORT_CLUSTER_LABEL        "multicluster.kubernetes.io/source-cluster"
#define VISIBLE_TO_ANNOTATION       "dns.kube2sky/visible-to"
#define ALIASES_ANNOTATION          "dns.kube2sky/aliases"
#define INGRESS_CLASS_ANNOTATION    "kubernetes.io/ingress.class"
#define ZONE_LABEL                  "topology.kubernetes.io/zone"
#define TRIGGER_TIME_ANNOTATION     "endpoints.kubernetes.io/last-change-trigger-time"
#define INITIAL_END                 "k8s.io/initial-events-end" /* its value is "true" */

/* A UUID has 36 bytes. */
enum { UID_BYTES_MAX = 64 };

/* ---- Metadata ---- */

/* Reads a version, of an object or of a list. */
static const char *read_version(struct fields_reader *r, const struct fields *metadata,
                                uint32_t number)
{
    const char *version = fields_text(r, metadata, "resourceVersion", number);
    if (strlen(version) <= KUBE_VERSION_MAX) {
        return version;
    }
    fields_check(
        r, metadata,
        err_set(r->err, ERR_TOO_LARGE, "resourceVersion: longer than %d bytes", KUBE_VERSION_MAX));
    return "";
}

static void decode_metadata(struct fields_reader *r, const struct fields *object)
{
    struct kube_object *draft = &r->draft->object;
    const struct fields *metadata = &r->metadata;
    r->metadata = fields_inner(r, object, "metadata", 1);
    draft->ns = fields_text(r, metadata, "namespace", 3);
    draft->name = fields_text(r, metadata, "name", 1);
    draft->resource_version = read_version(r, metadata, 6);
    r->labels = fields_map(r, metadata, "labels", 11);
    if (r->rc == 0) {
        r->annotations = fields_map(r, metadata, "annotations", 12);
        fields_leave_out_annotation(r);
    }
}

/* Returns the uid, if wanted; one that is too long is none. */
static const char *read_uid(struct fields_reader *r)
{
    const char *uid = kube_draft_kept()->uids ? fields_text_or_none(r, &r->metadata, "uid", 5) : "";
    return strlen(uid) <= UID_BYTES_MAX ? uid : "";
}

static int64_t read_creation(struct fields_reader *r)
{
    return fields_time_s(r, &r->metadata, "creationTimestamp", 8);
}

/* Returns an annotation of at most that many bytes; NULL if absent. Leaves out a longer one. */
static const char *read_limited(struct fields_reader *r, const char *key, size_t max)
{
    const char *text = fields_entry(r, &r->annotations, key);
    if (text && strlen(text) > max) {
        r->rc = err_set(r->err, ERR_SYNTAX, "annotation %s: %zu bytes: expected at most %zu", key,
                        strlen(text), max);
    }
    return r->rc < 0 ? NULL : text;
}

/* ---- Parts of objects ---- */

/* Reads a port: two messages of the API describe ports, with their fields in different order. */
static bool read_port_of(struct fields_reader *r, const struct fields *item,
                         uint32_t protocol_number, uint32_t port_number, struct kube_port *port)
{
    port->name = fields_text(r, item, "name", 1);
    port->protocol = fields_text(r, item, "protocol", protocol_number);
    port->port = fields_port(r, item, "port", port_number);
    return true;
}

static bool read_port(struct fields_reader *r, const struct fields *item, void *element)
{
    return read_port_of(r, item, 2, 3, element);
}

static bool read_endpoint_port(struct fields_reader *r, const struct fields *item, void *element)
{
    return read_port_of(r, item, 3, 2, element);
}

static const struct kube_port *read_ports(struct fields_reader *r, const struct fields *at,
                                          uint32_t number, fields_item_fn fn, size_t *ret_count)
{
    if (r->rc < 0) {
        return NULL;
    }
    r->is_in_ports = true;
    const struct kube_port *ports =
        fields_items(r, at, "ports", number, fn, sizeof(*ports), ret_count);
    fields_leave_out(r);
    r->is_in_ports = false;
    return ports;
}

static bool read_ip(struct fields_reader *r, const struct fields *item, void *element)
{
    *(const char **)element = fields_text(r, item, "ip", 1);
    return true;
}

/* Takes all addresses but ""; without any, the single one. clusterIPs (1.20) and podIPs (1.16) came
 * with dual stack: older servers have only the single field. */
static const char **take_addresses(struct fields_reader *r, const char *const *many, size_t count,
                                   const char *single, size_t *ret_count)
{
    const char **taken = fields_room(r, NULL, count + 1, sizeof(*taken));
    for (size_t i = 0; taken && (i < count || i == 0); i++) {
        const char *address = count ? many[i] : single;
        if (*address) {
            taken[(*ret_count)++] = address;
        }
    }
    return taken;
}

/* ---- Services ---- */

/* Sets the Service's cluster IPs. "None" means headless; anything else is an address. */
static void take_cluster_ips(struct fields_reader *r, const char *const *many, size_t count,
                             const char *single)
{
    struct kube_service *service = &r->draft->object.service;
    size_t taken = 0;
    const char **ips = take_addresses(r, many, count, single, &taken);
    for (size_t i = 0; i < taken; i++) {
        if (strcmp(ips[i], "None") == 0) {
            service->is_headless = true;
        } else {
            ips[service->cluster_ip_count++] = ips[i];
        }
    }
    service->cluster_ips = ips;
}

/* One of the points at which a load balancer takes connections. */
struct ingress_point {
    const char *ip;
    const char *hostname;
};

static bool read_ingress_point(struct fields_reader *r, const struct fields *item, void *element)
{
    struct ingress_point *point = element;
    point->ip = fields_text(r, item, "ip", 1);
    point->hostname = fields_text(r, item, "hostname", 2);
    return true;
}

static const char *dotted_host(struct fields_reader *r, const char *host)
{
    size_t len = strlen(host);
    if (host[len - 1] == '.') {
        return host;
    }
    char *copy = fields_room(r, NULL, len + 2, 1);
    if (copy) {
        memcpy(copy, host, len);
        copy[len] = '.';
    }
    return copy;
}

/* Reads the external addresses and host names, if they are wanted; a malformed part is left out. */
static void read_external_addresses(struct fields_reader *r, const struct fields *object,
                                    const struct fields *spec)
{
    struct kube_service *service = &r->draft->object.service;
    size_t ip_count = 0, point_count = 0, count = 0;
    if (r->rc < 0 || !kube_draft_kept()->external) {
        return;
    }
    const char *const *ips = fields_texts(r, spec, "externalIPs", 5, &ip_count);
    fields_leave_out(r);
    const struct fields status = fields_inner(r, object, "status", 3);
    const struct fields balancer = fields_inner(r, &status, "loadBalancer", 1);
    const struct ingress_point *points =
        fields_items(r, &balancer, "ingress", 1, read_ingress_point, sizeof(*points), &point_count);
    fields_leave_out(r);
    const char **taken = fields_room(r, NULL, ip_count + 2 * point_count, sizeof(*taken));
    for (size_t i = 0; r->rc == 0 && i < ip_count; i++) {
        taken[count] = ips[i];
        count += *ips[i] != '\0';
    }
    for (size_t i = 0; r->rc == 0 && i < point_count; i++) {
        taken[count] = points[i].ip;
        count += *points[i].ip != '\0';
        if (*points[i].hostname) {
            taken[count++] = dotted_host(r, points[i].hostname);
        }
    }
    service->external = taken;
    service->external_count = (uint32_t)count;
}

/* Returns whether a Service's trafficDistribution prefers near endpoints, if that is wanted. */
static bool is_near(const char *distribution)
{
    return kube_draft_kept()->topology && (strcmp(distribution, "PreferSameZone") == 0 ||
                                           strcmp(distribution, "PreferClose") == 0 ||
                                           strcmp(distribution, "PreferSameNode") == 0);
}

static void read_aliases(struct fields_reader *r)
{
    if (r->rc == 0 && kube_draft_kept()->aliases) {
        const char *text = read_limited(r, ALIASES_ANNOTATION, KUBE_ALIASES_MAX);
        r->draft->object.service.aliases = text ? text : "";
        fields_leave_out_annotation(r);
    }
}

static void decode_service(struct fields_reader *r, const struct fields *object)
{
    struct kube_service *service = &r->draft->object.service;
    const struct fields spec = fields_inner(r, object, "spec", 2);
    size_t ip_count = 0, port_count = 0;
    service->uid = read_uid(r);
    service->created_s = read_creation(r);
    service->type = fields_text(r, &spec, "type", 4);
    const char *const *ips = fields_texts(r, &spec, "clusterIPs", 18, &ip_count);
    take_cluster_ips(r, ips, ip_count, fields_text(r, &spec, "clusterIP", 3));
    service->external_name = fields_text(r, &spec, "externalName", 10);
    service->prefers_near = is_near(fields_text_or_none(r, &spec, "trafficDistribution", 23));
    if (r->rc == 0) {
        service->publish_not_ready = fields_flag(r, &spec, "publishNotReadyAddresses", 13, false);
        fields_leave_out(r);
    }
    service->ports = read_ports(r, &spec, 1, read_port, &port_count);
    service->port_count = (uint32_t)port_count;
    service->publish_not_ready |= slice_equal(
        fields_entry_if_any(&r->annotations, TOLERATE_UNREADY_ANNOTATION), slice_str("true"));
    read_external_addresses(r, object, &spec);
    read_aliases(r);
}

/* ---- Imports ---- */

/* Reads a port of an import: sets the API's default, which a definition of the resource may
 * lack. */
static bool read_import_port(struct fields_reader *r, const struct fields *item, void *element)
{
    struct kube_port *port = element;
    bool is_wanted = read_port(r, item, port);
    port->protocol = *port->protocol ? port->protocol : "TCP";
    return is_wanted;
}

static void decode_import(struct fields_reader *r, const struct fields *object)
{
    struct kube_service *import = &r->draft->object.service;
    const struct fields spec = fields_inner(r, object, "spec", 0);
    size_t ip_count = 0, port_count = 0;
    const char *type = fields_text(r, &spec, "type", 0);
    const char *const *ips = fields_texts(r, &spec, "ips", 0, &ip_count);
    if (r->rc == 0 && strcmp(type, "ClusterSetIP") == 0) {
        import->type = type;
        take_cluster_ips(r, ips, ip_count, "");
    } else if (r->rc == 0 && strcmp(type, "Headless") == 0) {
        import->type = type; /* it has no addresses of its own */
        import->is_headless = true;
    } else if (r->rc == 0) {
        r->rc =
            err_set(r->err, ERR_SYNTAX, "type: `%.64s`: expected ClusterSetIP or Headless", type);
        fields_leave_out(r);
    }
    import->ports = read_ports(r, &spec, 0, read_import_port, &port_count);
    import->port_count = (uint32_t)port_count;
}

/* ---- Endpoints ---- */

/* Returns the time of the change behind Endpoints or a slice; 0: unknown. A malformed one is no
 * fault: no record depends on it. */
static int64_t read_trigger(const struct fields_reader *r)
{
    return utc_time_parse_us(fields_entry_if_any(&r->annotations, TRIGGER_TIME_ANNOTATION));
}

static void read_hostnames(struct fields_reader *r)
{
    if (r->rc == 0) {
        const char *text = fields_entry(r, &r->annotations, KUBE_HOSTNAMES_ANNOTATION);
        if (text) {
            r->rc = kube_hostnames_parse(slice_str(text), &r->hostnames, r->err);
        }
        fields_leave_out_annotation(r);
    }
}

/* Returns the name of the pod behind an endpoint; "" if none is known or wanted. A reference that
 * cannot be understood is left out alone: the endpoint is then named without it. */
static const char *read_pod_name(struct fields_reader *r, const struct fields *at, uint32_t number)
{
    if (r->rc < 0 || !kube_draft_kept()->pods) {
        return "";
    }
    const struct fields reference = fields_inner(r, at, "targetRef", number);
    const char *kind = fields_text(r, &reference, "kind", 1);
    const char *name = fields_text(r, &reference, "name", 3);
    fields_leave_out(r);
    return strcmp(kind, "Pod") == 0 ? name : "";
}

static bool read_endpoint_address(struct fields_reader *r, const struct fields *item, void *element)
{
    struct kube_address *address = element;
    *address = (struct kube_address){.ip = fields_text(r, item, "ip", 1)};
    const char *hostname = fields_text(r, item, "hostname", 3);
    address->hostname = kube_hostnames_of(&r->hostnames, address->ip, hostname);
    address->pod = read_pod_name(r, item, 2);
    return true;
}

static bool read_subset(struct fields_reader *r, const struct fields *item, void *element)
{
    struct kube_subset *subset = element;
    size_t ready = 0, others = 0;
    struct kube_address *first =
        fields_items(r, item, "addresses", 1, read_endpoint_address, sizeof(*first), &ready);
    struct kube_address *rest = fields_items(r, item, "notReadyAddresses", 2, read_endpoint_address,
                                             sizeof(*rest), &others);
    struct kube_address *addresses = fields_room(r, item, ready + others, sizeof(*addresses));
    for (size_t i = 0; addresses && i < ready + others; i++) {
        addresses[i] = i < ready ? first[i] : rest[i - ready];
        addresses[i].is_ready = i < ready;
    }
    *subset = (struct kube_subset){.addresses = addresses, .address_count = ready + others};
    subset->ports = read_ports(r, item, 3, read_endpoint_port, &subset->port_count);
    return true;
}

static void decode_endpoints(struct fields_reader *r, const struct fields *object)
{
    struct kube_endpoints *endpoints = &r->draft->object.endpoints;
    read_hostnames(r);
    endpoints->triggered_us = read_trigger(r);
    endpoints->subsets = fields_items(r, object, "subsets", 2, read_subset,
                                      sizeof(*endpoints->subsets), &endpoints->subset_count);
}

/* ---- EndpointSlices ---- */

/* Reads the zone of an endpoint, if zones are wanted; returns its number in the slice, or 0. */
static uint8_t read_endpoint_zone(struct fields_reader *r, const struct fields *item)
{
    struct kube_slice *slice = &r->draft->object.slice;
    const char **zones = (const char **)(uintptr_t)slice->zones; /* of this draft's arena */
    const char *zone = kube_draft_kept()->topology ? fields_text(r, item, "zone", 7) : "";
    unsigned at = 0;
    if (!*zone || (!zones && !(zones = fields_room(r, NULL, KUBE_ZONES_MAX, sizeof(*zones))))) {
        return 0;
    }
    slice->zones = zones;
    while (at < slice->zone_count && strcmp(zones[at], zone) != 0) {
        at++;
    }
    if (at == slice->zone_count && at < KUBE_ZONES_MAX) {
        zones[slice->zone_count++] = zone;
    }
    return at < KUBE_ZONES_MAX ? (uint8_t)(at + 1) : 0;
}

static bool read_slice_endpoint(struct fields_reader *r, const struct fields *item, void *element)
{
    struct kube_slice_endpoint *endpoint = element;
    size_t count = 0;
    *endpoint = (struct kube_slice_endpoint){.address_count = 0};
    endpoint->addresses = fields_texts(r, item, "addresses", 1, &count);
    endpoint->address_count = (uint32_t)count;
    endpoint->hostname = fields_text(r, item, "hostname", 3);
    if (count > 0) {
        endpoint->hostname =
            kube_hostnames_of(&r->hostnames, endpoint->addresses[0], endpoint->hostname);
    }
    endpoint->pod = read_pod_name(r, item, 4);
    const struct fields conditions = fields_inner(r, item, "conditions", 2);
    endpoint->is_ready = fields_flag(r, &conditions, "ready", 1, true);
    endpoint->is_serving = fields_flag(r, &conditions, "serving", 2, endpoint->is_ready);
    endpoint->is_terminating = fields_flag(r, &conditions, "terminating", 3, false);
    endpoint->zone = read_endpoint_zone(r, item);
    return true;
}

/* Returns a label; "" if absent. */
static const char *read_label(struct fields_reader *r, const char *key)
{
    const char *text = fields_entry(r, &r->labels, key);
    return text ? text : "";
}

/* Checks a slice's address type. A type without addresses is a fault: the endpoints have no
 * records. */
static void take_address_type(struct fields_reader *r, const char *type)
{
    static const char *const names[] = {
        [KUBE_IPV4] = "IPv4", [KUBE_IPV6] = "IPv6", [KUBE_FQDN] = "FQDN"};
    size_t i = 0;
    while (i < ARRAY_LEN(names) && strcmp(type, names[i]) != 0) {
        i++;
    }
    r->draft->object.slice.address_type =
        i < ARRAY_LEN(names) ? (enum kube_address_type)i : KUBE_OTHER_ADDRESS;
    if (r->rc == 0 && i != KUBE_IPV4 && i != KUBE_IPV6) {
        r->rc = err_set(
            r->err, ERR_SYNTAX,
            "addressType: `%.64s`: expected IPv4 or IPv6, there are no records for others", type);
        fields_leave_out(r);
    }
}

static void decode_slice(struct fields_reader *r, const struct fields *object)
{
    struct kube_slice *slice = &r->draft->object.slice;
    slice->triggered_us = read_trigger(r);
    slice->service = read_label(r, slice->is_import ? KUBE_IMPORT_NAME_LABEL : SERVICE_NAME_LABEL);
    if (slice->is_import) {
        r->draft->object.import_slice.cluster = read_label(r, IMPORT_CLUSTER_LABEL);
    }
    const char *type = fields_text(r, object, "addressType", 4);
    read_hostnames(r);
    slice->endpoints = fields_items(r, object, "endpoints", 2, read_slice_endpoint,
                                    sizeof(*slice->endpoints), &slice->endpoint_count);
    slice->ports = read_ports(r, object, 3, read_port, &slice->port_count);
    take_address_type(r, type);
}

/* ---- Pods ---- */

static void decode_pod(struct fields_reader *r, const struct fields *object)
{
    struct kube_pod *pod = &r->draft->object.pod;
    const struct fields spec = fields_inner(r, object, "spec", 2);
    size_t count = 0;
    pod->is_on_host_network = fields_flag(r, &spec, "hostNetwork", 11, false);
    if (kube_draft_kept()->placement) {
        pod->node = fields_text_or_none(r, &spec, "nodeName", 10);
    }
    const struct fields status = fields_inner(r, object, "status", 3);
    pod->phase = fields_text(r, &status, "phase", 1);
    const char *const *ips = fields_items(r, &status, "podIPs", 12, read_ip, sizeof(*ips), &count);
    const char *ip = fields_text(r, &status, "podIP", 6);
    pod->ips = take_addresses(r, ips, count, ip, &pod->ip_count);
}

/* ---- ConfigMaps ---- */

/* Decodes a ConfigMap. A value that is no string makes all of it unknown: half a configuration is
 * not applied. */
static void decode_config_map(struct fields_reader *r, const struct fields *object)
{
    struct kube_config_map *map = &r->draft->object.config_map;
    map->settings = fields_entries(r, object, "data", 2, &map->setting_count);
}

/* ---- Nodes ---- */

static bool read_node_address(struct fields_reader *r, const struct fields *item, void *element)
{
    const char *type = fields_text(r, item, "type", 1);
    const char *ip = fields_text(r, item, "address", 2);
    *(const char **)element = ip;
    return strcmp(type, "InternalIP") == 0 && *ip;
}

static void decode_node(struct fields_reader *r, const struct fields *object)
{
    struct kube_node *node = &r->draft->object.node;
    if (r->rc == 0 && kube_draft_kept()->placement) {
        node->zone = read_label(r, ZONE_LABEL);
        fields_leave_out(r);
    }
    const struct fields status = fields_inner(r, object, "status", 3);
    node->ips = fields_items(r, &status, "addresses", 5, read_node_address, sizeof(*node->ips),
                             &node->ip_count);
}

/* ---- Namespaces ---- */

static void decode_namespace(struct fields_reader *r)
{
    r->draft->object.ns_object.visible_to =
        read_limited(r, VISIBLE_TO_ANNOTATION, KUBE_VISIBLE_TO_MAX);
    fields_leave_out(r);
}

/* ---- Ingresses ---- */

static bool read_ingress_rule(struct fields_reader *r, const struct fields *item, void *element)
{
    const char *host = fields_text(r, item, "host", 0);
    *(const char **)element = host;
    return *host;
}

static void decode_ingress(struct fields_reader *r, const struct fields *object)
{
    struct kube_ingress *ingress = &r->draft->object.ingress;
    const char *class = fields_entry(r, &r->annotations, INGRESS_CLASS_ANNOTATION);
    fields_leave_out_annotation(r);
    ingress->uid = read_uid(r);
    ingress->created_s = kube_draft_kept()->aliases ? read_creation(r) : 0;
    const struct fields spec = fields_inner(r, object, "spec", 0);
    ingress->class = fields_text(r, &spec, "ingressClassName", 0);
    ingress->class = *ingress->class || !class ? ingress->class : class;
    ingress->hosts = fields_items(r, &spec, "rules", 0, read_ingress_rule, sizeof(*ingress->hosts),
                                  &ingress->host_count);
}

/* ---- Gateways and their routes ---- */

static bool read_listener(struct fields_reader *r, const struct fields *item, void *element)
{
    struct kube_listener *listener = element;
    listener->name = fields_text(r, item, "name", 0);
    listener->hostname = fields_text(r, item, "hostname", 0);
    listener->port = fields_port(r, item, "port", 0);
    return true;
}

static void decode_gateway(struct fields_reader *r, const struct fields *object)
{
    struct kube_gateway *gateway = &r->draft->object.gateway;
    const struct fields spec = fields_inner(r, object, "spec", 0);
    gateway->listeners = fields_items(r, &spec, "listeners", 0, read_listener,
                                      sizeof(*gateway->listeners), &gateway->listener_count);
}

static bool is_of_gateway(const char *group, const char *kind)
{
    return (!*group || strcmp(group, "gateway.networking.k8s.io") == 0) &&
           (!*kind || strcmp(kind, "Gateway") == 0);
}

/* Reads a parent; it is wanted if it is a Gateway that has accepted the route. */
static bool read_parent(struct fields_reader *r, const struct fields *item, void *element)
{
    struct kube_parent *parent = element;
    const struct fields reference = fields_inner(r, item, "parentRef", 0);
    const char *group = fields_text(r, &reference, "group", 0);
    const char *kind = fields_text(r, &reference, "kind", 0);
    parent->ns = fields_text(r, &reference, "namespace", 0);
    parent->name = fields_text(r, &reference, "name", 0);
    parent->section = fields_text(r, &reference, "sectionName", 0);
    parent->port = fields_port(r, &reference, "port", 0);
    return is_of_gateway(group, kind) && fields_is_accepted(r, item);
}

static void decode_route(struct fields_reader *r, const struct fields *object)
{
    struct kube_route *route = &r->draft->object.route;
    const struct fields spec = fields_inner(r, object, "spec", 0);
    route->uid = read_uid(r);
    route->created_s = kube_draft_kept()->aliases ? read_creation(r) : 0;
    route->hostnames = fields_texts(r, &spec, "hostnames", 0, &route->hostname_count);
    const struct fields status = fields_inner(r, object, "status", 0);
    route->parents = fields_items(r, &status, "parents", 0, read_parent, sizeof(*route->parents),
                                  &route->parent_count);
}

/* ---- Objects ---- */

static void decode_content(struct fields_reader *r, const struct fields *object)
{
    switch (r->draft->object.kind) {
    case KUBE_SERVICE:
        decode_service(r, object);
        break;
    case KUBE_ENDPOINTS:
        decode_endpoints(r, object);
        break;
    case KUBE_IMPORT:
        decode_import(r, object);
        break;
    case KUBE_SLICE:
    case KUBE_IMPORT_SLICE:
        decode_slice(r, object);
        break;
    case KUBE_POD:
        decode_pod(r, object);
        break;
    case KUBE_CONFIG_MAP:
        decode_config_map(r, object);
        break;
    case KUBE_NODE:
        decode_node(r, object);
        break;
    case KUBE_NAMESPACE:
        decode_namespace(r);
        break;
    case KUBE_INGRESS:
        decode_ingress(r, object);
        break;
    case KUBE_GATEWAY:
        decode_gateway(r, object);
        break;
    case KUBE_ROUTE:
        decode_route(r, object);
        break;
    }
}

static void decode_object(struct fields_reader *r, const struct fields *object,
                          enum kube_object_part part)
{
    const enum kube_kind kind = r->draft->object.kind;
    decode_metadata(r, object);
    if (r->rc == 0) {
        r->rc = kube_draft_check_name(&r->draft->object, r->err);
    }
    if (r->rc < 0 || part == KUBE_METADATA_ONLY) {
        return;
    }
    if (r->encoding == KUBE_PROTOBUF && (int)kind >= (int)KUBE_PROTOBUF_KIND_COUNT) {
        r->rc = err_set(r->err, ERR_SYNTAX, "expected JSON, found protobuf");
    } else {
        decode_content(r, object);
    }
}

int kube_object_decode(enum kube_encoding encoding, enum kube_kind kind, struct slice text,
                       enum kube_object_part part, struct kube_draft *draft,
                       struct kube_object **ret_object, struct err *err)
{
    struct fields_reader r = {.encoding = encoding, .draft = draft, .err = err};
    kube_draft_begin(draft, kind);
    const struct fields object = fields_open(&r, text);
    decode_object(&r, &object, part);
    if (r.rc < 0) {
        kube_draft_garble(draft, err);
    }
    *ret_object = kube_draft_pack(draft, part);
    fields_close(&r);
    return r.rc;
}

/* ---- Lists and bookmarks ---- */

int kube_list_meta_decode(enum kube_encoding encoding, struct slice text,
                          struct kube_list_meta *meta, struct err *err)
{
    struct kube_draft draft;
    struct fields_reader r = {.encoding = encoding, .draft = &draft, .err = err};
    kube_draft_init(&draft);
    const struct fields metadata = fields_open(&r, text);
    const char *version = read_version(&r, &metadata, 2);
    const char *token = fields_text(&r, &metadata, "continue", 3);
    if (strlen(token) > KUBE_CONTINUE_MAX) {
        r.rc = err_set(err, ERR_TOO_LARGE, "continue: longer than %d bytes", KUBE_CONTINUE_MAX);
    }
    if (r.rc == 0) {
        kube_list_meta_fini(meta);
        meta->resource_version = xstrdup(version);
        meta->continue_token = xstrdup(token);
    }
    fields_close(&r);
    kube_draft_fini(&draft);
    return r.rc < 0 ? err_wrap(err, r.rc, "metadata") : 0;
}

int kube_bookmark_decode(enum kube_encoding encoding, struct slice text, struct kube_event *event,
                         struct err *err)
{
    struct kube_draft draft;
    struct fields_reader r = {.encoding = encoding, .draft = &draft, .err = err};
    kube_draft_init(&draft);
    kube_draft_begin(&draft, KUBE_NAMESPACE); /* any kind has metadata */
    const struct fields object = fields_open(&r, text);
    decode_metadata(&r, &object);
    if (r.rc == 0 && !*draft.object.resource_version) {
        r.rc = err_set(err, ERR_SYNTAX, "metadata.resourceVersion: missing");
    }
    if (r.rc == 0) {
        event->resource_version = xstrdup(draft.object.resource_version);
        event->is_initial_end =
            slice_equal(fields_entry_if_any(&r.annotations, INITIAL_END), slice_str("true"));
    }
    fields_close(&r);
    kube_draft_fini(&draft);
    return r.rc;
}
