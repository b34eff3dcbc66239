#include "kube2sky/api/kube_object.h"

#include <stdlib.h>
#include <string.h>

/* ---- Resource versions ---- */

bool kube_version_is_number(const char *version)
{
    return *version && *version != '0' && !version[strspn(version, "0123456789")];
}

bool kube_version_is_before(const char *version, const char *other)
{
    if (!kube_version_is_number(version) || !kube_version_is_number(other)) {
        return false;
    }
    size_t len = strlen(version), other_len = strlen(other);
    return len != other_len ? len < other_len : strcmp(version, other) < 0;
}

bool kube_version_has_reached(const char *version, const char *wanted)
{
    return version && kube_version_is_number(version) && kube_version_is_number(wanted) &&
           !kube_version_is_before(version, wanted);
}

/* ---- Objects ---- */

void kube_object_free(struct kube_object *object)
{
    free(object);
}

bool kube_kind_is_namespaced(enum kube_kind kind)
{
    return kind != KUBE_NODE && kind != KUBE_NAMESPACE;
}

bool kube_object_has_ended(const struct kube_object *pod)
{
    return strcmp(pod->pod.phase, "Succeeded") == 0 || strcmp(pod->pod.phase, "Failed") == 0;
}

enum kube_kind kube_kind_localized(enum kube_kind kind)
{
    return kind == KUBE_IMPORT ? KUBE_SERVICE : kind == KUBE_IMPORT_SLICE ? KUBE_SLICE : kind;
}

void kube_object_localize(struct kube_object *object)
{
    object->kind = kube_kind_localized(object->kind);
}

const char *kube_object_uid(const struct kube_object *object)
{
    return object->is_garbled             ? ""
           : object->kind == KUBE_SERVICE ? object->service.uid
           : object->kind == KUBE_INGRESS ? object->ingress.uid
           : object->kind == KUBE_ROUTE   ? object->route.uid
                                          : "";
}

/* ---- Equality ---- */

static bool equal_strings(const char *const *a, size_t a_count, const char *const *b,
                          size_t b_count)
{
    bool equal = a_count == b_count;
    for (size_t i = 0; equal && i < a_count; i++) {
        equal = strcmp(a[i], b[i]) == 0;
    }
    return equal;
}

static bool equal_ports(const struct kube_port *a, size_t a_count, const struct kube_port *b,
                        size_t b_count)
{
    bool equal = a_count == b_count;
    for (size_t i = 0; equal && i < a_count; i++) {
        equal = a[i].port == b[i].port && strcmp(a[i].name, b[i].name) == 0 &&
                strcmp(a[i].protocol, b[i].protocol) == 0;
    }
    return equal;
}

static bool equal_services(const struct kube_service *a, const struct kube_service *b)
{
    return strcmp(a->uid, b->uid) == 0 && a->is_headless == b->is_headless &&
           a->is_import == b->is_import && a->publish_not_ready == b->publish_not_ready &&
           a->prefers_near == b->prefers_near && a->created_s == b->created_s &&
           strcmp(a->aliases, b->aliases) == 0 && strcmp(a->type, b->type) == 0 &&
           strcmp(a->external_name, b->external_name) == 0 &&
           equal_strings(a->cluster_ips, a->cluster_ip_count, b->cluster_ips,
                         b->cluster_ip_count) &&
           equal_strings(a->external, a->external_count, b->external, b->external_count) &&
           equal_ports(a->ports, a->port_count, b->ports, b->port_count);
}

static bool equal_subsets(const struct kube_subset *a, const struct kube_subset *b)
{
    bool equal = a->address_count == b->address_count;
    for (size_t i = 0; equal && i < a->address_count; i++) {
        const struct kube_address *x = &a->addresses[i], *y = &b->addresses[i];
        equal = x->is_ready == y->is_ready && strcmp(x->ip, y->ip) == 0 &&
                strcmp(x->hostname, y->hostname) == 0 && strcmp(x->pod, y->pod) == 0;
    }
    return equal && equal_ports(a->ports, a->port_count, b->ports, b->port_count);
}

static bool equal_endpoints(const struct kube_endpoints *a, const struct kube_endpoints *b)
{
    bool equal = a->subset_count == b->subset_count;
    for (size_t i = 0; equal && i < a->subset_count; i++) {
        equal = equal_subsets(&a->subsets[i], &b->subsets[i]);
    }
    return equal;
}

static bool equal_slice_endpoints(const struct kube_slice_endpoint *a,
                                  const struct kube_slice_endpoint *b)
{
    return a->is_ready == b->is_ready && a->is_serving == b->is_serving &&
           a->is_terminating == b->is_terminating && strcmp(a->hostname, b->hostname) == 0 &&
           strcmp(a->pod, b->pod) == 0 &&
           equal_strings(a->addresses, a->address_count, b->addresses, b->address_count);
}

static bool equal_slices(const struct kube_slice *a, const struct kube_slice *b)
{
    bool equal = a->address_type == b->address_type && a->endpoint_count == b->endpoint_count &&
                 strcmp(a->service, b->service) == 0 &&
                 strcmp(kube_slice_cluster(a), kube_slice_cluster(b)) == 0;
    for (size_t i = 0; equal && i < a->endpoint_count; i++) {
        equal =
            equal_slice_endpoints(&a->endpoints[i], &b->endpoints[i]) &&
            strcmp(kube_slice_zone(a, &a->endpoints[i]), kube_slice_zone(b, &b->endpoints[i])) == 0;
    }
    return equal && equal_ports(a->ports, a->port_count, b->ports, b->port_count);
}

static bool equal_config_maps(const struct kube_config_map *a, const struct kube_config_map *b)
{
    bool equal = a->setting_count == b->setting_count;
    for (size_t i = 0; equal && i < a->setting_count; i++) {
        equal = strcmp(a->settings[i].key, b->settings[i].key) == 0 &&
                strcmp(a->settings[i].value, b->settings[i].value) == 0;
    }
    return equal;
}

/* Compares two texts, which may be NULL. */
static bool equal_texts(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool equal_ingresses(const struct kube_ingress *a, const struct kube_ingress *b)
{
    return a->created_s == b->created_s && strcmp(a->uid, b->uid) == 0 &&
           strcmp(a->class, b->class) == 0 &&
           equal_strings(a->hosts, a->host_count, b->hosts, b->host_count);
}

static bool equal_gateways(const struct kube_gateway *a, const struct kube_gateway *b)
{
    bool equal = a->listener_count == b->listener_count;
    for (size_t i = 0; equal && i < a->listener_count; i++) {
        const struct kube_listener *x = &a->listeners[i], *y = &b->listeners[i];
        equal = x->port == y->port && strcmp(x->name, y->name) == 0 &&
                strcmp(x->hostname, y->hostname) == 0;
    }
    return equal;
}

static bool equal_routes(const struct kube_route *a, const struct kube_route *b)
{
    bool equal = a->created_s == b->created_s && strcmp(a->uid, b->uid) == 0 &&
                 a->parent_count == b->parent_count &&
                 equal_strings(a->hostnames, a->hostname_count, b->hostnames, b->hostname_count);
    for (size_t i = 0; equal && i < a->parent_count; i++) {
        const struct kube_parent *x = &a->parents[i], *y = &b->parents[i];
        equal = x->port == y->port && strcmp(x->ns, y->ns) == 0 && strcmp(x->name, y->name) == 0 &&
                strcmp(x->section, y->section) == 0;
    }
    return equal;
}

static bool equal_contents(const struct kube_object *a, const struct kube_object *b)
{
    switch (a->kind) {
    case KUBE_SERVICE:
    case KUBE_IMPORT:
        return equal_services(&a->service, &b->service);
    case KUBE_ENDPOINTS:
        return equal_endpoints(&a->endpoints, &b->endpoints);
    case KUBE_SLICE:
    case KUBE_IMPORT_SLICE:
        return equal_slices(&a->slice, &b->slice);
    case KUBE_POD:
        return strcmp(a->pod.phase, b->pod.phase) == 0 &&
               a->pod.is_on_host_network == b->pod.is_on_host_network &&
               strcmp(a->pod.node, b->pod.node) == 0 &&
               equal_strings(a->pod.ips, a->pod.ip_count, b->pod.ips, b->pod.ip_count);
    case KUBE_CONFIG_MAP:
        return equal_config_maps(&a->config_map, &b->config_map);
    case KUBE_NODE:
        return strcmp(a->node.zone, b->node.zone) == 0 &&
               equal_strings(a->node.ips, a->node.ip_count, b->node.ips, b->node.ip_count);
    case KUBE_NAMESPACE:
        return equal_texts(a->ns_object.visible_to, b->ns_object.visible_to);
    case KUBE_INGRESS:
        return equal_ingresses(&a->ingress, &b->ingress);
    case KUBE_GATEWAY:
        return equal_gateways(&a->gateway, &b->gateway);
    case KUBE_ROUTE:
        return equal_routes(&a->route, &b->route);
    }
    return false;
}

bool kube_object_equal(const struct kube_object *a, const struct kube_object *b)
{
    return a->kind == b->kind && a->is_garbled == b->is_garbled && a->is_bare == b->is_bare &&
           strcmp(a->ns, b->ns) == 0 && strcmp(a->name, b->name) == 0 && equal_contents(a, b);
}

/* ---- Results of decoding ---- */

void kube_list_meta_fini(struct kube_list_meta *meta)
{
    free(meta->resource_version);
    free(meta->continue_token);
    *meta = (struct kube_list_meta){0};
}

void kube_event_fini(struct kube_event *event)
{
    kube_object_free(event->object);
    free(event->resource_version);
    *event = (struct kube_event){0};
}

void kube_status_fini(struct kube_status *status)
{
    free(status->message);
    *status = (struct kube_status){0};
}
