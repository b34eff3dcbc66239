/* An object as a line of text, for tables and comparisons. Everything but the resourceVersion. */
#ifndef TESTS_UNIT_KUBE2SKY_API_PRINT_OBJECT_H
#define TESTS_UNIT_KUBE2SKY_API_PRINT_OBJECT_H

#include "common/base/buf.h"
#include "kube2sky/api/kube_object.h"

static inline void print_ports(struct buf *out, const struct kube_port *ports, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, " %s/%s:%d", ports[i].name, ports[i].protocol, (int)ports[i].port);
    }
}

static inline void print_service(struct buf *out, const struct kube_service *service)
{
    buf_printf(out, " type=%s", service->type);
    for (size_t i = 0; i < service->cluster_ip_count; i++) {
        buf_printf(out, " ip=%s", service->cluster_ips[i]);
    }
    buf_append_str(out, service->is_import ? " import" : "");
    buf_append_str(out, service->is_headless ? " headless" : "");
    buf_append_str(out, service->publish_not_ready ? " notready" : "");
    if (service->created_s) {
        buf_printf(out, " created=%lld", (long long)service->created_s);
    }
    if (*service->uid) {
        buf_printf(out, " uid=%s", service->uid);
    }
    if (*service->aliases) {
        buf_printf(out, " aliases=%s", service->aliases);
    }
    if (*service->external_name) {
        buf_printf(out, " external=%s", service->external_name);
    }
    for (size_t i = 0; i < service->external_count; i++) {
        buf_printf(out, " outside=%s", service->external[i]);
    }
    print_ports(out, service->ports, service->port_count);
}

static inline void print_endpoints(struct buf *out, const struct kube_endpoints *endpoints)
{
    for (size_t i = 0; i < endpoints->subset_count; i++) {
        const struct kube_subset *subset = &endpoints->subsets[i];
        buf_append_str(out, " {");
        for (size_t j = 0; j < subset->address_count; j++) {
            const struct kube_address *address = &subset->addresses[j];
            buf_printf(out, " %s%s%s", address->ip, *address->hostname ? "=" : "",
                       address->hostname);
            buf_printf(out, "%s%s", *address->pod ? "@" : "", address->pod);
            buf_append_str(out, address->is_ready ? "" : "(not ready)");
        }
        print_ports(out, subset->ports, subset->port_count);
        buf_append_str(out, " }");
    }
}

static inline void print_slice(struct buf *out, const struct kube_slice *slice)
{
    static const char *const types[] = {"IPv4", "IPv6", "FQDN", "other"};
    buf_printf(out, " of=%s %s", slice->service, types[slice->address_type]);
    const char *cluster = kube_slice_cluster(slice);
    buf_printf(out, "%s%s", *cluster ? " cluster=" : "", cluster);
    for (size_t i = 0; i < slice->endpoint_count; i++) {
        const struct kube_slice_endpoint *endpoint = &slice->endpoints[i];
        buf_append_char(out, ' ');
        for (size_t j = 0; j < endpoint->address_count; j++) {
            buf_printf(out, "%s%s", j ? "," : "", endpoint->addresses[j]);
        }
        buf_printf(out, "%s%s", *endpoint->hostname ? "=" : "", endpoint->hostname);
        buf_printf(out, "%s%s", *endpoint->pod ? "@" : "", endpoint->pod);
        buf_append_str(out, endpoint->is_ready ? "" : "(not ready)");
        buf_append_str(out, endpoint->is_serving ? "" : "(not serving)");
        buf_append_str(out, endpoint->is_terminating ? "(terminating)" : "");
    }
    print_ports(out, slice->ports, slice->port_count);
}

/* Without its faults and its trigger time, which is no content. */
static inline void print_content(struct buf *out, const struct kube_object *object)
{
    buf_printf(out, "%s/%s", object->ns, object->name);
    if (object->is_garbled) {
        buf_printf(out, " garbled%s%s", object->kind == KUBE_SLICE ? " of=" : "",
                   object->kind == KUBE_SLICE ? object->slice.service : "");
        return;
    }
    switch (object->kind) {
    case KUBE_SERVICE:
    case KUBE_IMPORT:
        print_service(out, &object->service);
        break;
    case KUBE_ENDPOINTS:
        print_endpoints(out, &object->endpoints);
        break;
    case KUBE_SLICE:
    case KUBE_IMPORT_SLICE:
        print_slice(out, &object->slice);
        break;
    case KUBE_POD:
        buf_printf(out, " %s", object->pod.phase);
        for (size_t i = 0; i < object->pod.ip_count; i++) {
            buf_printf(out, " %s", object->pod.ips[i]);
        }
        buf_append_str(out, object->pod.is_on_host_network ? " host" : "");
        buf_append_str(out, *object->pod.node ? " at " : "");
        buf_append_str(out, object->pod.node);
        break;
    case KUBE_CONFIG_MAP:
        for (size_t i = 0; i < object->config_map.setting_count; i++) {
            const struct kube_setting *setting = &object->config_map.settings[i];
            buf_printf(out, " %s=%s", setting->key, setting->value);
        }
        break;
    case KUBE_NODE:
        for (size_t i = 0; i < object->node.ip_count; i++) {
            buf_printf(out, " %s", object->node.ips[i]);
        }
        buf_append_str(out, *object->node.zone ? " in " : "");
        buf_append_str(out, object->node.zone);
        break;
    case KUBE_NAMESPACE:
        buf_printf(out, " %s",
                   object->ns_object.visible_to ? object->ns_object.visible_to : "(none)");
        break;
    case KUBE_INGRESS:
        buf_printf(out, " class=%s created=%lld", object->ingress.class,
                   (long long)object->ingress.created_s);
        for (size_t i = 0; i < object->ingress.host_count; i++) {
            buf_printf(out, " %s", object->ingress.hosts[i]);
        }
        break;
    case KUBE_GATEWAY:
        for (size_t i = 0; i < object->gateway.listener_count; i++) {
            const struct kube_listener *listener = &object->gateway.listeners[i];
            buf_printf(out, " %s=%s:%d", listener->name, listener->hostname, (int)listener->port);
        }
        break;
    case KUBE_ROUTE:
        for (size_t i = 0; i < object->route.hostname_count; i++) {
            buf_printf(out, " %s", object->route.hostnames[i]);
        }
        for (size_t i = 0; i < object->route.parent_count; i++) {
            const struct kube_parent *parent = &object->route.parents[i];
            buf_printf(out, " at=%s/%s/%s:%d", parent->ns, parent->name, parent->section,
                       (int)parent->port);
        }
        break;
    }
}

static inline void print_object(struct buf *out, const struct kube_object *object)
{
    bool is_whole = !object->is_garbled && !object->is_bare;
    int64_t triggered_us = !is_whole                        ? 0
                           : object->kind == KUBE_ENDPOINTS ? object->endpoints.triggered_us
                           : object->kind == KUBE_SLICE     ? object->slice.triggered_us
                                                            : 0;
    print_content(out, object);
    if (triggered_us) {
        buf_printf(out, " triggered=%lld", (long long)triggered_us);
    }
    if (object->is_garbled) {
        buf_printf(out, ": %s", object->faults);
    } else if (object->fault_count) {
        buf_printf(out, " without %d: %s", object->fault_count, object->faults);
    }
}

#endif
