#include "kube2sky/api/kube_endpoints_decode_internal.h"

#include <string.h>

#include "common/base/utc_time.h"

#define SERVICE_NAME_LABEL      "kubernetes.io/service-name"
#define IMPORT_CLUSTER_LABEL    "multicluster.kubernetes.io/source-cluster"
#define TRIGGER_TIME_ANNOTATION "endpoints.kubernetes.io/last-change-trigger-time"

/* ---- Ports ---- */

/* Reads a port: two messages of the API describe ports, with their fields in different order. */
static bool read_port_of(struct fields_reader *r, const struct fields *item,
                         uint32_t protocol_number, uint32_t port_number, struct kube_port *port)
{
    port->name = fields_text(r, item, "name", 1);
    port->protocol = fields_text(r, item, "protocol", protocol_number);
    port->port = fields_port(r, item, "port", port_number);
    return true;
}

bool kube_port_decode(struct fields_reader *r, const struct fields *item, void *element)
{
    return read_port_of(r, item, 2, 3, element);
}

static bool read_endpoint_port(struct fields_reader *r, const struct fields *item, void *element)
{
    return read_port_of(r, item, 3, 2, element);
}

const struct kube_port *kube_ports_decode(struct fields_reader *r, const struct fields *at,
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
    subset->ports = kube_ports_decode(r, item, 3, read_endpoint_port, &subset->port_count);
    return true;
}

void kube_endpoints_decode(struct fields_reader *r, const struct fields *object)
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

void kube_slice_decode(struct fields_reader *r, const struct fields *object)
{
    struct kube_slice *slice = &r->draft->object.slice;
    slice->triggered_us = read_trigger(r);
    slice->service =
        fields_label(r, slice->is_import ? KUBE_IMPORT_NAME_LABEL : SERVICE_NAME_LABEL);
    if (slice->is_import) {
        r->draft->object.import_slice.cluster = fields_label(r, IMPORT_CLUSTER_LABEL);
    }
    const char *type = fields_text(r, object, "addressType", 4);
    read_hostnames(r);
    slice->endpoints = fields_items(r, object, "endpoints", 2, read_slice_endpoint,
                                    sizeof(*slice->endpoints), &slice->endpoint_count);
    slice->ports = kube_ports_decode(r, object, 3, kube_port_decode, &slice->port_count);
    take_address_type(r, type);
}
