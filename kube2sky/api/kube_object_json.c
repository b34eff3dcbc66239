#include "kube2sky/api/kube_object_json_internal.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/utc_time.h"
#include "kube2sky/api/fields_json_internal.h"

/* Holds the state of decoding one object. */
struct decoder {
    struct kube_draft *draft;
    struct kube_hostnames hostnames;
    json_t *labels;
    json_t *annotations;
    const json_t *metadata;
    const char *created; /* metadata.creationTimestamp; "" = absent, or not decoded */
    struct err *err;
};

/* ---- Parts of objects ---- */

static int kube_object_json_leave_out(struct decoder *d, int rc)
{
    return kube_draft_leave_out(d->draft, rc, d->err);
}

static int leave_out_port(struct decoder *d, int rc)
{
    return kube_draft_leave_out_port(d->draft, rc, d->err);
}

static int leave_out_annotation(struct decoder *d, int rc)
{
    return kube_draft_leave_out_annotation(d->draft, rc, d->err);
}

static int kube_object_json_decode_metadata(struct decoder *d, const json_t *json)
{
    struct kube_object *object = &d->draft->object;
    struct err *err = d->err;
    json_t *metadata = NULL;
    int rc = fields_get_object(json, "metadata", &metadata, err);
    if (rc == 0 && ((rc = fields_get_string(metadata, "namespace", &object->ns, err)) < 0 ||
                    (rc = fields_get_string(metadata, "name", &object->name, err)) < 0 ||
                    (rc = fields_get_version(metadata, &object->resource_version, err)) < 0 ||
                    (rc = fields_get_object(metadata, "labels", &d->labels, err)) < 0)) {
        return err_wrap(err, rc, "metadata");
    }
    if (rc == 0) {
        rc = kube_draft_check_name(object, err);
    }
    d->metadata = metadata;
    const char *uid = json_string_value(json_object_get(metadata, "uid"));
    if (uid && kube_draft_kept()->uids) {
        kube_draft_uid(d->draft, uid);
    }
    if (rc == 0 && (object->kind == KUBE_SERVICE || kube_draft_kept()->aliases)) {
        rc = kube_object_json_leave_out(
            d, fields_get_string(metadata, "creationTimestamp", &d->created, err));
    }
    return rc < 0 ? rc
                  : leave_out_annotation(
                        d, fields_get_object(metadata, "annotations", &d->annotations, err));
}

/* Gets the array `key` of parent, and room for its elements. *ret_array is NULL if absent. */
static int begin_array(struct decoder *d, const json_t *parent, const char *key, size_t size,
                       json_t **ret_array, void **ret_elements)
{
    int rc = fields_get_array(parent, key, ret_array, d->err);
    if (rc < 0) {
        return rc;
    }
    *ret_elements = kube_draft_array(d->draft, json_array_size(*ret_array), size, d->err);
    return *ret_elements ? 0 : ERR_TOO_LARGE;
}

static int decode_port(struct decoder *d, const json_t *array, size_t i, struct kube_port *ret_port)
{
    json_t *json = NULL;
    int rc = fields_get_element_object(array, "ports", i, &json, d->err);
    if (rc == 0 && ((rc = fields_get_string(json, "name", &ret_port->name, d->err)) < 0 ||
                    (rc = fields_get_string(json, "protocol", &ret_port->protocol, d->err)) < 0 ||
                    (rc = fields_get_port(json, "port", &ret_port->port, d->err)) < 0)) {
        return err_wrap(d->err, rc, "ports[%zu]", i);
    }
    return rc;
}

static int kube_object_json_decode_ports(struct decoder *d, const json_t *parent,
                                         const struct kube_port **ret_ports, size_t *ret_count)
{
    json_t *array = NULL;
    void *elements = NULL;
    size_t count = 0;
    int rc =
        leave_out_port(d, begin_array(d, parent, "ports", sizeof(**ret_ports), &array, &elements));
    struct kube_port *ports = elements;
    for (size_t i = 0; rc == 0 && i < json_array_size(array); i++) {
        int r = decode_port(d, array, i, &ports[count]);
        count += r == 0;
        rc = leave_out_port(d, r);
    }
    *ret_ports = ports;
    *ret_count = count;
    return rc;
}

/* Decodes strings; elements that are no strings are left out. */
static int decode_strings(struct decoder *d, const json_t *parent, const char *key,
                          const char *const **ret_strings, size_t *ret_count)
{
    json_t *array = NULL;
    void *elements = NULL;
    int rc = begin_array(d, parent, key, sizeof(**ret_strings), &array, &elements);
    const char **strings = elements;
    size_t count = 0;
    for (size_t i = 0; rc == 0 && i < json_array_size(array); i++) {
        int r = fields_get_element_string(array, key, i, &strings[count], d->err);
        count += r == 0;
        rc = kube_object_json_leave_out(d, r);
    }
    *ret_strings = strings;
    *ret_count = count;
    return rc;
}

/* ---- Services ---- */

static int decode_cluster_ips(struct decoder *d, const json_t *spec)
{
    const char *const *addresses = NULL;
    const char *address = "";
    size_t count = 0;
    int rc = decode_strings(d, spec, "clusterIPs", &addresses, &count);
    if (rc == 0) {
        rc = fields_get_string(spec, "clusterIP", &address, d->err);
    }
    return rc < 0 ? rc : kube_draft_cluster_ips(d->draft, addresses, count, address, d->err);
}

static int decode_ingress_point(struct decoder *d, const json_t *array, size_t i,
                                struct kube_ingress_point *ret_point)
{
    json_t *json = NULL;
    int rc = fields_get_element_object(array, "ingress", i, &json, d->err);
    if (rc == 0 && ((rc = fields_get_string(json, "ip", &ret_point->ip, d->err)) < 0 ||
                    (rc = fields_get_string(json, "hostname", &ret_point->hostname, d->err)) < 0)) {
        return err_wrap(d->err, rc, "ingress[%zu]", i);
    }
    return rc;
}

/* Decodes status.loadBalancer.ingress; elements that are malformed are left out. */
static int decode_ingress_points(struct decoder *d, const json_t *json,
                                 struct kube_ingress_point **ret_points, size_t *ret_count)
{
    json_t *status = NULL, *balancer = NULL, *array = NULL;
    void *elements = NULL;
    int rc = 0;
    if ((rc = fields_get_object(json, "status", &status, d->err)) < 0 ||
        (rc = fields_get_object(status, "loadBalancer", &balancer, d->err)) < 0 ||
        (rc = begin_array(d, balancer, "ingress", sizeof(**ret_points), &array, &elements)) < 0) {
        return err_wrap(d->err, rc, "status");
    }
    *ret_points = elements;
    for (size_t i = 0; rc == 0 && i < json_array_size(array); i++) {
        int r = decode_ingress_point(d, array, i, &(*ret_points)[*ret_count]);
        *ret_count += r == 0;
        rc = kube_object_json_leave_out(d, r);
    }
    return rc;
}

/* Decodes the external addresses, if they are wanted; a malformed part is left out. */
static int kube_object_json_decode_external(struct decoder *d, const json_t *json,
                                            const json_t *spec)
{
    const char *const *ips = NULL;
    struct kube_ingress_point *points = NULL;
    size_t ip_count = 0, point_count = 0;
    if (!kube_draft_kept()->external) {
        return 0;
    }
    int rc = kube_object_json_leave_out(d, decode_strings(d, spec, "externalIPs", &ips, &ip_count));
    if (rc == 0) {
        rc = kube_object_json_leave_out(d, decode_ingress_points(d, json, &points, &point_count));
    }
    return rc < 0 ? rc : kube_draft_external(d->draft, ips, ip_count, points, point_count, d->err);
}

static int kube_object_json_decode_aliases(struct decoder *d)
{
    struct kube_service *service = &d->draft->object.service;
    const char *text = NULL;
    service->created_s = utc_time_parse_s(d->created);
    if (!kube_draft_kept()->aliases) {
        return 0;
    }
    int rc = fields_get_string(d->annotations, KUBE_ALIASES_ANNOTATION, &text, d->err);
    return leave_out_annotation(d, rc < 0 ? rc : kube_draft_aliases(d->draft, text, d->err));
}

static int kube_object_json_decode_service(struct decoder *d, const json_t *json)
{
    struct kube_service *service = &d->draft->object.service;
    json_t *spec = NULL;
    const char *distribution = "";
    size_t port_count = 0;
    int rc = fields_get_object(json, "spec", &spec, d->err);
    if (rc == 0 &&
        ((rc = fields_get_string(spec, "type", &service->type, d->err)) < 0 ||
         (rc = decode_cluster_ips(d, spec)) < 0 ||
         (rc = fields_get_string(spec, "externalName", &service->external_name, d->err)) < 0 ||
         (rc = kube_object_json_leave_out(
              d, fields_get_string(spec, "trafficDistribution", &distribution, d->err))) < 0 ||
         (rc = kube_object_json_leave_out(d, fields_get_bool(spec, "publishNotReadyAddresses",
                                                             &service->publish_not_ready,
                                                             d->err))) < 0 ||
         (rc = kube_object_json_decode_ports(d, spec, &service->ports, &port_count)) < 0)) {
        return err_wrap(d->err, rc, "spec");
    }
    service->port_count = (uint32_t)port_count;
    kube_draft_distribution(d->draft, distribution);
    const char *tolerate =
        json_string_value(json_object_get(d->annotations, KUBE_TOLERATE_UNREADY_ANNOTATION));
    if (tolerate && strcmp(tolerate, "true") == 0) {
        service->publish_not_ready = true;
    }
    rc = rc < 0 ? rc : kube_object_json_decode_external(d, json, spec);
    return rc < 0 ? rc : kube_object_json_decode_aliases(d);
}

/* ---- Imports ---- */

/* Sets the API's default, which a definition of the resource may lack. */
static void default_protocol(const struct kube_service *import)
{
    for (size_t i = 0; i < import->port_count; i++) {
        struct kube_port *port = (struct kube_port *)(uintptr_t)&import->ports[i]; /* the draft's */
        port->protocol = *port->protocol ? port->protocol : "TCP";
    }
}

/* Sets what a Service of this kind has: a headless one has no addresses of its own. */
static int take_import_type(struct decoder *d, const char *type, const char *const *ips,
                            size_t count)
{
    struct kube_service *import = &d->draft->object.service;
    bool has_ips = strcmp(type, "ClusterSetIP") == 0;
    import->is_headless = strcmp(type, "Headless") == 0;
    if (!has_ips && !import->is_headless) {
        int rc =
            err_set(d->err, ERR_SYNTAX, "type: `%.64s`: expected ClusterSetIP or Headless", type);
        return kube_object_json_leave_out(d, rc);
    }
    import->type = type;
    return has_ips ? kube_draft_cluster_ips(d->draft, ips, count, "", d->err) : 0;
}

static int decode_import(struct decoder *d, const json_t *json)
{
    struct kube_service *import = &d->draft->object.service;
    json_t *spec = NULL;
    const char *type = "";
    const char *const *ips = NULL;
    size_t count = 0, port_count = 0;
    int rc = fields_get_object(json, "spec", &spec, d->err);
    if (rc == 0 &&
        ((rc = fields_get_string(spec, "type", &type, d->err)) < 0 ||
         (rc = decode_strings(d, spec, "ips", &ips, &count)) < 0 ||
         (rc = take_import_type(d, type, ips, count)) < 0 ||
         (rc = kube_object_json_decode_ports(d, spec, &import->ports, &port_count)) < 0)) {
        return err_wrap(d->err, rc, "spec");
    }
    import->port_count = (uint32_t)port_count;
    default_protocol(import);
    return rc;
}

/* ---- Endpoints ---- */

/* Returns the time of the change behind Endpoints or a slice; 0: unknown. A malformed one is no
 * fault: no record depends on it. */
static int64_t decode_trigger(const struct decoder *d)
{
    const json_t *time = json_object_get(d->annotations, KUBE_TRIGGER_TIME_ANNOTATION);
    return utc_time_parse_us(slice_of(json_string_value(time), json_string_length(time)));
}

static int kube_object_json_decode_hostnames(struct decoder *d)
{
    const char *text = NULL;
    int rc = fields_get_string(d->annotations, KUBE_HOSTNAMES_ANNOTATION, &text, d->err);
    return leave_out_annotation(
        d, rc < 0 ? rc : kube_hostnames_parse(slice_str(text), &d->hostnames, d->err));
}

/* Decodes the name of the pod behind an endpoint; "" if none is known or wanted. A reference that
 * cannot be understood is left out alone: the endpoint is then named without it. */
static int decode_pod_name(struct decoder *d, const json_t *endpoint, const char **ret_pod)
{
    json_t *reference = NULL;
    const char *kind = "", *name = "";
    int rc = 0;
    *ret_pod = "";
    if (!kube_draft_kept()->pods) {
        return 0;
    }
    if ((rc = fields_get_object(endpoint, "targetRef", &reference, d->err)) < 0 ||
        (rc = fields_get_string(reference, "kind", &kind, d->err)) < 0 ||
        (rc = fields_get_string(reference, "name", &name, d->err)) < 0) {
        return kube_object_json_leave_out(d, rc);
    }
    *ret_pod = strcmp(kind, KUBE_POD_REFERENCE) == 0 ? name : "";
    return 0;
}

static int decode_address(struct decoder *d, const json_t *array, const char *key, size_t i,
                          struct kube_address *ret_address)
{
    json_t *json = NULL;
    int rc = fields_get_element_object(array, key, i, &json, d->err);
    if (rc == 0 &&
        ((rc = fields_get_string(json, "ip", &ret_address->ip, d->err)) < 0 ||
         (rc = fields_get_string(json, "hostname", &ret_address->hostname, d->err)) < 0 ||
         (rc = decode_pod_name(d, json, &ret_address->pod)) < 0)) {
        return err_wrap(d->err, rc, "%s[%zu]", key, i);
    }
    return rc;
}

/* Appends to the subset's addresses, which have room. */
static int kube_object_json_decode_addresses(struct decoder *d, const json_t *array,
                                             const char *key, bool is_ready,
                                             struct kube_address *addresses, size_t *count)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < json_array_size(array); i++) {
        struct kube_address *address = &addresses[*count];
        int r = decode_address(d, array, key, i, address);
        if (r == 0) {
            address->is_ready = is_ready;
            address->hostname = kube_hostnames_of(&d->hostnames, address->ip, address->hostname);
            ++*count;
        }
        rc = kube_object_json_leave_out(d, r);
    }
    return rc;
}

static int kube_object_json_decode_subset(struct decoder *d, const json_t *json,
                                          struct kube_subset *subset)
{
    json_t *ready = NULL;
    json_t *not_ready = NULL;
    int rc = fields_get_array(json, "addresses", &ready, d->err);
    if (rc == 0) {
        rc = fields_get_array(json, "notReadyAddresses", &not_ready, d->err);
    }
    if (rc < 0) {
        return rc;
    }
    size_t room = json_array_size(ready) + json_array_size(not_ready),
           *count = &subset->address_count;
    struct kube_address *addresses = kube_draft_array(d->draft, room, sizeof(*addresses), d->err);
    if (!addresses) {
        return ERR_TOO_LARGE;
    }
    subset->addresses = addresses;
    if ((rc = kube_object_json_decode_addresses(d, ready, "addresses", true, addresses, count)) <
            0 ||
        (rc = kube_object_json_decode_addresses(d, not_ready, "notReadyAddresses", false, addresses,
                                                count)) < 0) {
        return rc;
    }
    return kube_object_json_decode_ports(d, json, &subset->ports, &subset->port_count);
}

static int decode_nth_subset(struct decoder *d, const json_t *array, size_t i,
                             struct kube_subset *subset)
{
    json_t *json = NULL;
    int rc = fields_get_element_object(array, "subsets", i, &json, d->err);
    *subset = (struct kube_subset){.addresses = NULL};
    if (rc == 0 && (rc = kube_object_json_decode_subset(d, json, subset)) < 0) {
        return err_wrap(d->err, rc, "subsets[%zu]", i);
    }
    return rc;
}

static int kube_object_json_decode_endpoints(struct decoder *d, const json_t *json)
{
    struct kube_endpoints *endpoints = &d->draft->object.endpoints;
    json_t *array = NULL;
    void *elements = NULL;
    size_t count = 0;
    int rc = kube_object_json_decode_hostnames(d);
    endpoints->triggered_us = decode_trigger(d);
    if (rc == 0) {
        rc = begin_array(d, json, "subsets", sizeof(*endpoints->subsets), &array, &elements);
    }
    struct kube_subset *subsets = elements;
    for (size_t i = 0; rc == 0 && i < json_array_size(array); i++) {
        int r = decode_nth_subset(d, array, i, &subsets[count]);
        count += r == 0;
        rc = kube_object_json_leave_out(d, r);
    }
    endpoints->subsets = subsets;
    endpoints->subset_count = count;
    return rc;
}

/* ---- EndpointSlices ---- */

static int decode_conditions(struct decoder *d, const json_t *json,
                             struct kube_slice_endpoint *endpoint)
{
    json_t *conditions = NULL;
    int rc = fields_get_object(json, "conditions", &conditions, d->err);
    endpoint->is_ready = true;
    if (rc < 0 || (rc = fields_get_bool(conditions, "ready", &endpoint->is_ready, d->err)) < 0) {
        return rc;
    }
    endpoint->is_serving = endpoint->is_ready;
    if ((rc = fields_get_bool(conditions, "serving", &endpoint->is_serving, d->err)) < 0) {
        return rc;
    }
    return fields_get_bool(conditions, "terminating", &endpoint->is_terminating, d->err);
}

static int kube_object_json_decode_slice_endpoint(struct decoder *d, const json_t *array, size_t i,
                                                  struct kube_slice_endpoint *endpoint)
{
    json_t *json = NULL;
    const char *zone = "";
    size_t count = 0;
    int rc = fields_get_element_object(array, "endpoints", i, &json, d->err);
    *endpoint = (struct kube_slice_endpoint){.addresses = NULL};
    if (rc < 0) {
        return rc;
    }
    if ((rc = decode_strings(d, json, "addresses", &endpoint->addresses, &count)) < 0 ||
        (rc = fields_get_string(json, "hostname", &endpoint->hostname, d->err)) < 0 ||
        (rc = decode_pod_name(d, json, &endpoint->pod)) < 0 ||
        (rc = fields_get_string(json, "zone", &zone, d->err)) < 0 ||
        (rc = kube_draft_zone(d->draft, zone, endpoint, d->err)) < 0 ||
        (rc = decode_conditions(d, json, endpoint)) < 0) {
        return err_wrap(d->err, rc, "endpoints[%zu]", i);
    }
    endpoint->address_count = (uint32_t)count;
    if (count > 0) {
        endpoint->hostname =
            kube_hostnames_of(&d->hostnames, endpoint->addresses[0], endpoint->hostname);
    }
    return 0;
}

static int kube_object_json_decode_slice_endpoints(struct decoder *d, const json_t *json,
                                                   struct kube_slice *slice)
{
    json_t *array = NULL;
    void *elements = NULL;
    int rc = begin_array(d, json, "endpoints", sizeof(*slice->endpoints), &array, &elements);
    struct kube_slice_endpoint *endpoints = elements;
    size_t count = 0;
    for (size_t i = 0; rc == 0 && i < json_array_size(array); i++) {
        int r = kube_object_json_decode_slice_endpoint(d, array, i, &endpoints[count]);
        count += r == 0;
        rc = kube_object_json_leave_out(d, r);
    }
    slice->endpoints = endpoints;
    slice->endpoint_count = count;
    return rc;
}

/* Decodes the labels that say which Service's, or import's, the slice is. */
static int decode_owner_labels(struct decoder *d, struct kube_slice *slice)
{
    if (d->draft->object.kind == KUBE_SLICE) {
        return fields_get_string(d->labels, KUBE_SERVICE_NAME_LABEL, &slice->service, d->err);
    }
    int rc = fields_get_string(d->labels, KUBE_IMPORT_NAME_LABEL, &slice->service, d->err);
    return rc < 0 ? rc
                  : fields_get_string(d->labels, KUBE_IMPORT_CLUSTER_LABEL,
                                      &d->draft->object.import_slice.cluster, d->err);
}

static int kube_object_json_decode_slice(struct decoder *d, const json_t *json)
{
    struct kube_slice *slice = &d->draft->object.slice;
    const char *type = NULL;
    int rc = 0;
    slice->triggered_us = decode_trigger(d);
    if ((rc = decode_owner_labels(d, slice)) < 0 ||
        (rc = fields_get_string(json, "addressType", &type, d->err)) < 0 ||
        (rc = kube_object_json_decode_hostnames(d)) < 0 ||
        (rc = kube_object_json_decode_slice_endpoints(d, json, slice)) < 0 ||
        (rc = kube_object_json_decode_ports(d, json, &slice->ports, &slice->port_count)) < 0) {
        return rc;
    }
    return kube_draft_address_type(d->draft, type);
}

/* ---- Pods ---- */

static int decode_pod_ip(struct decoder *d, const json_t *array, size_t i, const char **ret_ip)
{
    json_t *json = NULL;
    int rc = fields_get_element_object(array, "podIPs", i, &json, d->err);
    if (rc == 0 && (rc = fields_get_string(json, "ip", ret_ip, d->err)) < 0) {
        return err_wrap(d->err, rc, "podIPs[%zu]", i);
    }
    return rc;
}

static int decode_pod_ips(struct decoder *d, const json_t *status)
{
    json_t *array = NULL;
    void *elements = NULL;
    const char *ip = "";
    size_t count = 0;
    int rc = begin_array(d, status, "podIPs", sizeof(char *), &array, &elements);
    const char **ips = elements;
    for (size_t i = 0; rc == 0 && i < json_array_size(array); i++) {
        int r = decode_pod_ip(d, array, i, &ips[count]);
        count += r == 0;
        rc = kube_object_json_leave_out(d, r);
    }
    if (rc == 0) {
        rc = fields_get_string(status, "podIP", &ip, d->err);
    }
    return rc < 0 ? rc : kube_draft_pod_ips(d->draft, ips, count, ip, d->err);
}

static int kube_object_json_decode_pod_spec(struct decoder *d, const json_t *json)
{
    json_t *spec = NULL;
    int rc = fields_get_object(json, "spec", &spec, d->err);
    if (rc == 0 && (rc = fields_get_bool(spec, "hostNetwork",
                                         &d->draft->object.pod.is_on_host_network, d->err)) < 0) {
        return err_wrap(d->err, rc, "spec");
    }
    if (rc == 0 && kube_draft_kept()->placement) {
        rc = kube_object_json_leave_out(
            d, fields_get_string(spec, "nodeName", &d->draft->object.pod.node, d->err));
    }
    return rc;
}

static int kube_object_json_decode_pod(struct decoder *d, const json_t *json)
{
    json_t *status = NULL;
    int rc = kube_object_json_decode_pod_spec(d, json);
    if (rc == 0) {
        rc = fields_get_object(json, "status", &status, d->err);
    }
    if (rc == 0 &&
        ((rc = fields_get_string(status, "phase", &d->draft->object.pod.phase, d->err)) < 0 ||
         (rc = decode_pod_ips(d, status)) < 0)) {
        return err_wrap(d->err, rc, "status");
    }
    return rc;
}

/* ---- ConfigMaps ---- */

/* Decodes a ConfigMap. A value that is no string makes all of it unknown: half a configuration is
 * not applied. */
static int kube_object_json_decode_config_map(struct decoder *d, const json_t *json)
{
    struct kube_config_map *map = &d->draft->object.config_map;
    json_t *data = NULL;
    int rc = fields_get_object(json, "data", &data, d->err);
    struct kube_setting *settings =
        kube_draft_array(d->draft, json_object_size(data), sizeof(*settings), d->err);
    rc = rc == 0 && !settings ? ERR_TOO_LARGE : rc;
    for (void *i = json_object_iter(data); rc == 0 && i; i = json_object_iter_next(data, i)) {
        struct kube_setting *setting = &settings[map->setting_count++];
        setting->key = json_object_iter_key(i);
        rc = fields_get_string(data, setting->key, &setting->value, d->err);
    }
    map->settings = settings;
    return rc < 0 ? err_wrap(d->err, rc, "data") : 0;
}

/* ---- Nodes ---- */

/* Decodes an address of a Node; *ret_ip is "" if it is of another type. */
static int decode_node_address(struct decoder *d, const json_t *array, size_t i,
                               const char **ret_ip)
{
    json_t *json = NULL;
    const char *type = "", *ip = "";
    int rc = fields_get_element_object(array, "addresses", i, &json, d->err);
    if (rc == 0 && ((rc = fields_get_string(json, "type", &type, d->err)) < 0 ||
                    (rc = fields_get_string(json, "address", &ip, d->err)) < 0)) {
        return err_wrap(d->err, rc, "addresses[%zu]", i);
    }
    *ret_ip = strcmp(type, KUBE_NODE_ADDRESS_TYPE) == 0 ? ip : "";
    return rc;
}

static int kube_object_json_decode_node_addresses(struct decoder *d, const json_t *status)
{
    struct kube_node *node = &d->draft->object.node;
    json_t *array = NULL;
    void *elements = NULL;
    int rc = begin_array(d, status, "addresses", sizeof(char *), &array, &elements);
    const char **ips = elements;
    for (size_t i = 0; rc == 0 && i < json_array_size(array); i++) {
        int r = decode_node_address(d, array, i, &ips[node->ip_count]);
        node->ip_count += r == 0 && *ips[node->ip_count];
        rc = kube_object_json_leave_out(d, r);
    }
    node->ips = ips;
    return rc;
}

static int kube_object_json_decode_zone(struct decoder *d)
{
    return kube_draft_kept()->placement
               ? kube_object_json_leave_out(d,
                                            fields_get_string(d->labels, KUBE_ZONE_LABEL,
                                                              &d->draft->object.node.zone, d->err))
               : 0;
}

static int kube_object_json_decode_node(struct decoder *d, const json_t *json)
{
    json_t *status = NULL;
    int rc = kube_object_json_decode_zone(d);
    if (rc == 0) {
        rc = fields_get_object(json, "status", &status, d->err);
    }
    if (rc == 0 && (rc = kube_object_json_decode_node_addresses(d, status)) < 0) {
        return err_wrap(d->err, rc, "status");
    }
    return rc;
}

/* ---- Namespaces ---- */

static int kube_object_json_decode_namespace(struct decoder *d)
{
    const json_t *annotation = json_object_get(d->annotations, KUBE_VISIBLE_TO_ANNOTATION);
    const char *text = NULL;
    int rc = fields_get_string(d->annotations, KUBE_VISIBLE_TO_ANNOTATION, &text, d->err);
    if (rc == 0 && annotation && !json_is_null(annotation)) {
        rc = kube_draft_visible_to(d->draft, text, d->err);
    }
    return kube_object_json_leave_out(d, rc);
}

/* ---- Ingresses ---- */

static int decode_rule(struct decoder *d, const json_t *array, size_t i, const char **ret_host)
{
    json_t *json = NULL;
    int rc = fields_get_element_object(array, "rules", i, &json, d->err);
    if (rc == 0 && (rc = fields_get_string(json, "host", ret_host, d->err)) < 0) {
        return err_wrap(d->err, rc, "rules[%zu]", i);
    }
    return rc;
}

static int decode_rules(struct decoder *d, const json_t *spec)
{
    struct kube_ingress *ingress = &d->draft->object.ingress;
    json_t *array = NULL;
    void *elements = NULL;
    int rc = begin_array(d, spec, "rules", sizeof(char *), &array, &elements);
    const char **hosts = elements;
    for (size_t i = 0; rc == 0 && i < json_array_size(array); i++) {
        int r = decode_rule(d, array, i, &hosts[ingress->host_count]);
        ingress->host_count += r == 0 && *hosts[ingress->host_count];
        rc = kube_object_json_leave_out(d, r);
    }
    ingress->hosts = hosts;
    return rc;
}

static int decode_ingress(struct decoder *d, const json_t *json)
{
    struct kube_ingress *ingress = &d->draft->object.ingress;
    const char *class = "";
    json_t *spec = NULL;
    int rc = leave_out_annotation(
        d, fields_get_string(d->annotations, KUBE_INGRESS_CLASS_ANNOTATION, &class, d->err));
    ingress->created_s = utc_time_parse_s(d->created);
    if (rc == 0) {
        rc = fields_get_object(json, "spec", &spec, d->err);
    }
    if (rc == 0 &&
        ((rc = fields_get_string(spec, "ingressClassName", &ingress->class, d->err)) < 0 ||
         (rc = decode_rules(d, spec)) < 0)) {
        return err_wrap(d->err, rc, "spec");
    }
    ingress->class = *ingress->class ? ingress->class : class;
    return rc;
}

/* ---- Gateways and their routes ---- */

static int decode_listener(struct decoder *d, const json_t *array, size_t i,
                           struct kube_listener *listener)
{
    json_t *json = NULL;
    int rc = fields_get_element_object(array, "listeners", i, &json, d->err);
    *listener = (struct kube_listener){.name = "", .hostname = ""};
    if (rc == 0 && ((rc = fields_get_string(json, "name", &listener->name, d->err)) < 0 ||
                    (rc = fields_get_string(json, "hostname", &listener->hostname, d->err)) < 0 ||
                    (rc = fields_get_port(json, "port", &listener->port, d->err)) < 0)) {
        return err_wrap(d->err, rc, "listeners[%zu]", i);
    }
    return rc;
}

static int decode_gateway(struct decoder *d, const json_t *json)
{
    struct kube_gateway *gateway = &d->draft->object.gateway;
    json_t *spec = NULL, *array = NULL;
    void *elements = NULL;
    int rc = fields_get_object(json, "spec", &spec, d->err);
    if (rc == 0) {
        rc = begin_array(d, spec, "listeners", sizeof(struct kube_listener), &array, &elements);
    }
    struct kube_listener *listeners = elements;
    for (size_t i = 0; rc == 0 && i < json_array_size(array); i++) {
        int r = decode_listener(d, array, i, &listeners[gateway->listener_count]);
        gateway->listener_count += r == 0;
        rc = kube_object_json_leave_out(d, r);
    }
    gateway->listeners = listeners;
    return rc < 0 ? err_wrap(d->err, rc, "spec") : 0;
}

/* Returns whether one of the parent's conditions says that it accepts the route's generation. */
static bool is_accepted(const struct decoder *d, const json_t *parent)
{
    const json_t *conditions = json_object_get(parent, "conditions");
    json_int_t generation = json_integer_value(json_object_get(d->metadata, "generation"));
    bool is = false;
    for (size_t i = 0; i < json_array_size(conditions) && !is; i++) {
        const json_t *condition = json_array_get(conditions, i);
        const char *type = json_string_value(json_object_get(condition, "type"));
        const char *status = json_string_value(json_object_get(condition, "status"));
        is = type && status && strcmp(type, "Accepted") == 0 && strcmp(status, "True") == 0 &&
             json_integer_value(json_object_get(condition, "observedGeneration")) == generation;
    }
    return is;
}

static bool is_of_gateway(const char *group, const char *kind)
{
    return (!*group || strcmp(group, KUBE_GATEWAY_GROUP) == 0) &&
           (!*kind || strcmp(kind, "Gateway") == 0);
}

/* Decodes a parent; *ret_taken: it is a Gateway that has accepted the route. */
static int decode_parent(struct decoder *d, const json_t *array, size_t i,
                         struct kube_parent *parent, bool *ret_taken)
{
    json_t *json = NULL, *reference = NULL;
    const char *group = "", *kind = "";
    int rc = fields_get_element_object(array, "parents", i, &json, d->err);
    if (rc == 0) {
        rc = fields_get_object(json, "parentRef", &reference, d->err);
    }
    if (rc == 0 &&
        ((rc = fields_get_string(reference, "group", &group, d->err)) < 0 ||
         (rc = fields_get_string(reference, "kind", &kind, d->err)) < 0 ||
         (rc = fields_get_string(reference, "namespace", &parent->ns, d->err)) < 0 ||
         (rc = fields_get_string(reference, "name", &parent->name, d->err)) < 0 ||
         (rc = fields_get_string(reference, "sectionName", &parent->section, d->err)) < 0 ||
         (rc = fields_get_port(reference, "port", &parent->port, d->err)) < 0)) {
        return err_wrap(d->err, rc, "parents[%zu]: parentRef", i);
    }
    *ret_taken = rc == 0 && is_of_gateway(group, kind) && is_accepted(d, json);
    return rc;
}

static int decode_parents(struct decoder *d, const json_t *status)
{
    struct kube_route *route = &d->draft->object.route;
    json_t *array = NULL;
    void *elements = NULL;
    int rc = begin_array(d, status, "parents", sizeof(struct kube_parent), &array, &elements);
    struct kube_parent *parents = elements;
    for (size_t i = 0; rc == 0 && i < json_array_size(array); i++) {
        bool is_taken = false;
        int r = decode_parent(d, array, i, &parents[route->parent_count], &is_taken);
        route->parent_count += is_taken;
        rc = kube_object_json_leave_out(d, r);
    }
    route->parents = parents;
    return rc;
}

static int decode_route(struct decoder *d, const json_t *json)
{
    struct kube_route *route = &d->draft->object.route;
    json_t *spec = NULL, *status = NULL;
    int rc = fields_get_object(json, "spec", &spec, d->err);
    route->created_s = utc_time_parse_s(d->created);
    if (rc == 0 && (rc = decode_strings(d, spec, "hostnames", &route->hostnames,
                                        &route->hostname_count)) < 0) {
        return err_wrap(d->err, rc, "spec");
    }
    if (rc == 0 && (rc = fields_get_object(json, "status", &status, d->err)) == 0 &&
        (rc = decode_parents(d, status)) < 0) {
        return err_wrap(d->err, rc, "status");
    }
    return rc;
}

/* ---- Objects ---- */

static int decode_json(struct decoder *d, const json_t *json, enum kube_object_part part)
{
    if (!json_is_object(json)) {
        return err_set(d->err, ERR_SYNTAX, "expected an object, found %s", fields_type_name(json));
    }
    int rc = kube_object_json_decode_metadata(d, json);
    if (rc < 0 || part == KUBE_METADATA_ONLY) {
        return rc;
    }
    switch (d->draft->object.kind) {
    case KUBE_SERVICE:
        return kube_object_json_decode_service(d, json);
    case KUBE_ENDPOINTS:
        return kube_object_json_decode_endpoints(d, json);
    case KUBE_IMPORT:
        return decode_import(d, json);
    case KUBE_SLICE:
    case KUBE_IMPORT_SLICE:
        return kube_object_json_decode_slice(d, json);
    case KUBE_POD:
        return kube_object_json_decode_pod(d, json);
    case KUBE_CONFIG_MAP:
        return kube_object_json_decode_config_map(d, json);
    case KUBE_NODE:
        return kube_object_json_decode_node(d, json);
    case KUBE_NAMESPACE:
        return kube_object_json_decode_namespace(d);
    case KUBE_INGRESS:
        return decode_ingress(d, json);
    case KUBE_GATEWAY:
        return decode_gateway(d, json);
    case KUBE_ROUTE:
        return decode_route(d, json);
    }
    return rc;
}

int kube_object_from_json(enum kube_kind kind, struct slice text, enum kube_object_part part,
                          struct kube_draft *draft, struct kube_object **ret_object,
                          struct err *err)
{
    struct decoder d = {.draft = draft, .created = "", .err = err};
    kube_draft_begin(draft, kind);
    json_t *json = fields_parse(text, err);
    int rc = json ? decode_json(&d, json, part) : ERR_SYNTAX;
    if (rc < 0) {
        kube_draft_garble(draft, err);
    }
    *ret_object = kube_draft_pack(draft, part);
    kube_hostnames_fini(&d.hostnames);
    json_decref(json);
    return rc;
}
