/* The model's cluster as objects for an inventory. For test_naming_model.c. */
#ifndef TESTS_UNIT_KUBE2SKY_NAMING_NAMING_MODEL_OBJECTS_H
#define TESTS_UNIT_KUBE2SKY_NAMING_NAMING_MODEL_OBJECTS_H

#include "tests/unit/kube2sky/naming/naming_model.h"

static inline void append_ports(const struct part *part, struct buf *out)
{
    buf_append_str(out, "'ports':[");
    for (unsigned i = 0; i < part->port_count; i++) {
        unsigned port = part->ports[i];
        buf_printf(out, "%s{'name':'%s','protocol':'%s','port':%u}", i ? "," : "", ports[port].name,
                   ports[port].protocol, ports[port].number);
    }
    buf_append_char(out, ']');
}

static inline struct kube_object *service_object(const struct service *service, unsigned ns,
                                                 unsigned i)
{
    CLEANUP_BUF struct buf spec = buf_of(1 << 16);
    append_ports(&service->part, &spec);
    buf_printf(&spec, ",'publishNotReadyAddresses':%s", service->takes_all ? "true" : "false");
    if (service->type == HEADLESS) {
        buf_append_str(&spec, ",'clusterIP':'None','clusterIPs':['None']");
    } else if (service->type == EXTERNAL_NAME) {
        buf_append_str(&spec, ",'type':'ExternalName','externalName':'DB.example.com'");
    } else if (service->type == CLUSTER_IP) {
        buf_append_str(&spec, ",'clusterIPs':[");
        for (unsigned j = 0; j < service->ip_count; j++) {
            buf_printf(&spec, "%s'%s'", j ? "," : "", ips[service->ips[j]].given);
        }
        buf_append_char(&spec, ']');
    }
    CLEANUP_FREE char *name = xasprintf("s%u", i);
    return service_from(ns_name(ns), name, buf_cstr(&spec));
}

static inline void append_subset(const struct part *part, struct buf *out)
{
    for (int is_ready = 1; is_ready >= 0; is_ready--) {
        bool is_first = true;
        buf_printf(out, "'%s':[", is_ready ? "addresses" : "notReadyAddresses");
        for (unsigned i = 0; i < part->endpoint_count; i++) {
            const struct endpoint *endpoint = &part->endpoints[i];
            if (endpoint->is_ready == is_ready) {
                buf_printf(out,
                           "%s{'ip':'%s','hostname':'%s','targetRef':{'kind':'Pod','name':'%s'}}",
                           is_first ? "" : ",", ips[endpoint->ip].given,
                           hostnames[endpoint->hostname].given, pods[endpoint->pod]);
                is_first = false;
            }
        }
        buf_append_str(out, "],");
    }
    append_ports(part, out);
}

static inline struct kube_object *endpoints_object(const struct part *subsets, unsigned ns,
                                                   unsigned i)
{
    CLEANUP_FREE char *name = xasprintf("s%u", i);
    CLEANUP_BUF struct buf text = buf_of(1 << 16);
    for (unsigned j = 0; j < SUBSETS; j++) {
        buf_append_str(&text, j ? ",{" : "{");
        append_subset(&subsets[j], &text);
        buf_append_char(&text, '}');
    }
    return endpoints_from(ns_name(ns), name, buf_cstr(&text));
}

/* A terminating endpoint counts by its ready condition, so terminating makes no difference here. */
static inline struct kube_object *slice_object(const struct slice_object *slice, unsigned ns,
                                               unsigned i)
{
    CLEANUP_BUF struct buf text = buf_of(1 << 16);
    buf_printf(&text, "'addressType':'%s','endpoints':[", slice->is_fqdn ? "FQDN" : "IPv4");
    for (unsigned j = 0; j < slice->part.endpoint_count; j++) {
        const struct endpoint *endpoint = &slice->part.endpoints[j];
        buf_printf(&text,
                   "%s{'addresses':['%s'],'hostname':'%s','targetRef':{'kind':'Pod','name':'%s'},"
                   "'conditions':{%s}}",
                   j ? "," : "", ips[endpoint->ip].given, hostnames[endpoint->hostname].given,
                   pods[endpoint->pod],
                   endpoint->is_ready ? (j % 2 ? "" : "'ready':true,'terminating':true")
                                      : "'ready':false,'serving':true");
    }
    buf_append_str(&text, "],");
    append_ports(&slice->part, &text);
    CLEANUP_FREE char *name = xasprintf("slice%u", i);
    CLEANUP_FREE char *service =
        slice->service < SERVICES ? xasprintf("s%u", slice->service) : xstrdup("");
    return slice_from(ns_name(ns), name, service, buf_cstr(&text));
}

static inline struct kube_object *pod_object(const struct pod *pod, unsigned ns, unsigned i)
{
    static const char *const ended[] = {"Succeeded", "Failed"};
    CLEANUP_BUF struct buf text = buf_of(1 << 16);
    buf_printf(&text, "'phase':'%s','podIPs':[", pod->has_ended ? ended[i % 2] : "Running");
    for (unsigned j = 0; j < pod->ip_count; j++) {
        buf_printf(&text, "%s{'ip':'%s'}", j ? "," : "", ips[pod->ips[j]].given);
    }
    buf_append_char(&text, ']');
    CLEANUP_FREE char *name = xasprintf("pod%u", i);
    return pod_from(ns_name(ns), name, buf_cstr(&text));
}

#endif
