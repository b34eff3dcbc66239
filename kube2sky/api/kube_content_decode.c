#include "kube2sky/api/kube_content_decode_internal.h"

#include <string.h>

#include "kube2sky/api/kube_endpoints_decode_internal.h"

#define TOLERATE_UNREADY_ANNOTATION "service.alpha.kubernetes.io/tolerate-unready-endpoints"
#define VISIBLE_TO_ANNOTATION       "dns.kube2sky/visible-to"
#define ALIASES_ANNOTATION          "dns.kube2sky/aliases"
#define INGRESS_CLASS_ANNOTATION    "kubernetes.io/ingress.class"
#define ZONE_LABEL                  "topology.kubernetes.io/zone"

/* A UUID has 36 bytes. */
enum { UID_BYTES_MAX = 64 };

/* ---- From the metadata ---- */

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
    service->ports = kube_ports_decode(r, &spec, 1, kube_port_decode, &port_count);
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
    bool is_wanted = kube_port_decode(r, item, port);
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
    import->ports = kube_ports_decode(r, &spec, 0, read_import_port, &port_count);
    import->port_count = (uint32_t)port_count;
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
        node->zone = fields_label(r, ZONE_LABEL);
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

/* ---- All kinds ---- */

void kube_content_decode(struct fields_reader *r, const struct fields *object)
{
    switch (r->draft->object.kind) {
    case KUBE_SERVICE:
        decode_service(r, object);
        break;
    case KUBE_ENDPOINTS:
        kube_endpoints_decode(r, object);
        break;
    case KUBE_IMPORT:
        decode_import(r, object);
        break;
    case KUBE_SLICE:
    case KUBE_IMPORT_SLICE:
        kube_slice_decode(r, object);
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
