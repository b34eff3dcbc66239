#include "kube2sky/kube_object_json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cleanup.h"
#include "common/xalloc.h"
#include "kube2sky/fields_json.h"

static const char tolerate_unready[] = "service.alpha.kubernetes.io/tolerate-unready-endpoints";
static const char hostnames_map[] = "endpoints.beta.kubernetes.io/hostnames-map";

/* ---- Parts of objects ---- */

static int decode_metadata(const json_t *json, struct kube_object *object, json_t **ret_annotations,
                           struct err *err)
{
    json_t *metadata = NULL;
    int rc = fields_get_object(json, "metadata", &metadata, err);
    if (rc == 0 && ((rc = fields_get_string(metadata, "namespace", &object->ns, err)) < 0 ||
                    (rc = fields_get_string(metadata, "name", &object->name, err)) < 0 ||
                    (rc = fields_get_version(metadata, &object->resource_version, err)) < 0 ||
                    (rc = fields_get_string(metadata, "uid", &object->uid, err)) < 0 ||
                    (rc = fields_get_object(metadata, "annotations", ret_annotations, err)) < 0)) {
        return err_wrap(err, rc, "metadata");
    }
    if (rc == 0 && (!*object->ns || !*object->name)) {
        return err_set(err, ERR_SYNTAX, "metadata: expected a name and a namespace");
    }
    return rc;
}

static int decode_ports(const json_t *parent, struct kube_port **ret_ports, size_t *ret_count,
                        struct err *err)
{
    json_t *array = NULL;
    int rc = fields_get_array(parent, "ports", &array, err);
    size_t count = json_array_size(array);
    if (rc < 0 || count == 0) {
        return rc;
    }
    *ret_ports = xcalloc(count, sizeof(**ret_ports));
    *ret_count = count;
    for (size_t i = 0; i < count; i++) {
        struct kube_port *port = &(*ret_ports)[i];
        json_t *json = NULL;
        if ((rc = fields_get_element_object(array, "ports", i, &json, err)) < 0) {
            return rc;
        }
        if ((rc = fields_get_string(json, "name", &port->name, err)) < 0 ||
            (rc = fields_get_string(json, "protocol", &port->protocol, err)) < 0 ||
            (rc = fields_get_port(json, "port", &port->port, err)) < 0) {
            return err_wrap(err, rc, "ports[%zu]", i);
        }
    }
    return 0;
}

/* "None" says headless, "" that there is no address yet; anything else is one. Takes address. */
static void add_cluster_ip(struct kube_service *service, char *address)
{
    if (strcmp(address, "None") == 0) {
        service->is_headless = true;
    }
    if (*address && strcmp(address, "None") != 0) {
        service->cluster_ips[service->cluster_ip_count++] = address;
    } else {
        free(address);
    }
}

/* clusterIPs came with dual stack (1.20); an older server has only clusterIP. */
static int decode_cluster_ips(const json_t *spec, struct kube_service *service, struct err *err)
{
    json_t *array = NULL;
    int rc = fields_get_array(spec, "clusterIPs", &array, err);
    if (rc < 0) {
        return rc;
    }
    size_t count = json_array_size(array);
    service->cluster_ips = xcalloc(count ? count : 1, sizeof(*service->cluster_ips));
    for (size_t i = 0; i < count; i++) {
        char *address = NULL;
        if ((rc = fields_get_element_string(array, "clusterIPs", i, &address, err)) < 0) {
            return rc;
        }
        add_cluster_ip(service, address);
    }
    if (count == 0) {
        char *address = NULL;
        if ((rc = fields_get_string(spec, "clusterIP", &address, err)) < 0) {
            return rc;
        }
        add_cluster_ip(service, address);
    }
    return 0;
}

static int decode_service(const json_t *json, const json_t *annotations,
                          struct kube_service *service, struct err *err)
{
    json_t *spec = NULL;
    int rc = fields_get_object(json, "spec", &spec, err);
    if (rc == 0 &&
        ((rc = fields_get_string(spec, "type", &service->type, err)) < 0 ||
         (rc = decode_cluster_ips(spec, service, err)) < 0 ||
         (rc = fields_get_string(spec, "externalName", &service->external_name, err)) < 0 ||
         (rc = fields_get_bool(spec, "publishNotReadyAddresses", &service->publish_not_ready,
                               err)) < 0 ||
         (rc = decode_ports(spec, &service->ports, &service->port_count, err)) < 0)) {
        return err_wrap(err, rc, "spec");
    }
    const char *tolerate = json_string_value(json_object_get(annotations, tolerate_unready));
    if (tolerate && strcmp(tolerate, "true") == 0) {
        service->publish_not_ready = true;
    }
    return rc;
}

/* The annotation's value, {"10.0.0.1":{"HostName":"web-0"}}, as JSON; NULL when there is none. */
static int decode_hostnames(const json_t *annotations, json_t **ret_map, struct err *err)
{
    CLEANUP_FREE char *text = NULL;
    int rc = fields_get_string(annotations, hostnames_map, &text, err);
    if (rc < 0 || !*text) {
        return rc;
    }
    json_t *map = fields_parse(slice_str(text), err);
    if (!map) {
        return err_wrap(err, ERR_SYNTAX, "annotation %s", hostnames_map);
    }
    if (!json_is_object(map)) {
        rc = err_set(err, ERR_SYNTAX, "annotation %s: expected an object, found %s", hostnames_map,
                     fields_type_name(map));
        json_decref(map);
        return rc;
    }
    *ret_map = map;
    return 0;
}

/* Field names match without regard to case, as they did for the program that wrote and read it. */
static char *mapped_hostname(const json_t *hostnames, const char *ip)
{
    json_t *entry = json_object_get(hostnames, ip);
    const char *key;
    json_t *value;
    json_object_foreach(entry, key, value)
    {
        if (strcasecmp(key, "HostName") == 0 && json_is_string(value)) {
            return xstrdup(json_string_value(value));
        }
    }
    return xstrdup("");
}

/* Appends to what the subset has; its array is large enough. */
static int decode_addresses(const json_t *array, const char *key, bool is_ready,
                            const json_t *hostnames, struct kube_subset *subset, struct err *err)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        json_t *json = NULL;
        int rc = fields_get_element_object(array, key, i, &json, err);
        if (rc < 0) {
            return rc;
        }
        struct kube_address *address = &subset->addresses[subset->address_count++];
        address->is_ready = is_ready;
        if ((rc = fields_get_string(json, "ip", &address->ip, err)) < 0 ||
            (rc = fields_get_string(json, "hostname", &address->hostname, err)) < 0) {
            return err_wrap(err, rc, "%s[%zu]", key, i);
        }
        if (!*address->hostname && hostnames) {
            free(address->hostname);
            address->hostname = mapped_hostname(hostnames, address->ip);
        }
    }
    return 0;
}

static int decode_subset(const json_t *json, const json_t *hostnames, struct kube_subset *subset,
                         struct err *err)
{
    json_t *ready = NULL;
    json_t *not_ready = NULL;
    int rc = fields_get_array(json, "addresses", &ready, err);
    if (rc == 0) {
        rc = fields_get_array(json, "notReadyAddresses", &not_ready, err);
    }
    if (rc < 0) {
        return rc;
    }
    size_t count = json_array_size(ready) + json_array_size(not_ready);
    subset->addresses = xcalloc(count, sizeof(*subset->addresses));
    if ((rc = decode_addresses(ready, "addresses", true, hostnames, subset, err)) < 0 ||
        (rc = decode_addresses(not_ready, "notReadyAddresses", false, hostnames, subset, err)) <
            0) {
        return rc;
    }
    return decode_ports(json, &subset->ports, &subset->port_count, err);
}

static int decode_subsets(const json_t *json, const json_t *hostnames,
                          struct kube_endpoints *endpoints, struct err *err)
{
    json_t *array = NULL;
    int rc = fields_get_array(json, "subsets", &array, err);
    size_t count = json_array_size(array);
    if (rc < 0 || count == 0) {
        return rc;
    }
    endpoints->subsets = xcalloc(count, sizeof(*endpoints->subsets));
    endpoints->subset_count = count;
    for (size_t i = 0; i < count; i++) {
        json_t *subset = NULL;
        if ((rc = fields_get_element_object(array, "subsets", i, &subset, err)) < 0) {
            return rc;
        }
        if ((rc = decode_subset(subset, hostnames, &endpoints->subsets[i], err)) < 0) {
            return err_wrap(err, rc, "subsets[%zu]", i);
        }
    }
    return 0;
}

static int decode_endpoints(const json_t *json, const json_t *annotations,
                            struct kube_endpoints *endpoints, struct err *err)
{
    json_t *hostnames = NULL;
    int rc = decode_hostnames(annotations, &hostnames, err);
    if (rc == 0) {
        rc = decode_subsets(json, hostnames, endpoints, err);
    }
    json_decref(hostnames);
    return rc;
}

/* ---- Objects ---- */

static int decode_json(const json_t *json, enum kube_object_part part, struct kube_object *object,
                       struct err *err)
{
    json_t *annotations = NULL;
    int rc = decode_metadata(json, object, &annotations, err);
    if (rc < 0 || part == KUBE_METADATA_ONLY) {
        return rc;
    }
    switch (object->kind) {
    case KUBE_SERVICE:
        return decode_service(json, annotations, &object->service, err);
    case KUBE_ENDPOINTS:
        return decode_endpoints(json, annotations, &object->endpoints, err);
    }
    return rc;
}

int kube_object_from_json(struct slice text, enum kube_object_part part, struct kube_object *object,
                          struct err *err)
{
    json_t *json = fields_parse(text, err);
    if (!json) {
        return ERR_SYNTAX;
    }
    int rc = json_is_object(json)
                 ? decode_json(json, part, object, err)
                 : err_set(err, ERR_SYNTAX, "expected an object, found %s", fields_type_name(json));
    json_decref(json);
    return rc;
}
