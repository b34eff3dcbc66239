#include "kube2sky/kube_object.h"

#include <stdlib.h>

static void free_ports(struct kube_port *ports, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(ports[i].name);
        free(ports[i].protocol);
    }
    free(ports);
}

static void free_service(struct kube_service *service)
{
    for (size_t i = 0; i < service->cluster_ip_count; i++) {
        free(service->cluster_ips[i]);
    }
    free(service->cluster_ips);
    free(service->type);
    free(service->external_name);
    free_ports(service->ports, service->port_count);
}

static void free_endpoints(struct kube_endpoints *endpoints)
{
    for (size_t i = 0; i < endpoints->subset_count; i++) {
        struct kube_subset *subset = &endpoints->subsets[i];
        for (size_t j = 0; j < subset->address_count; j++) {
            free(subset->addresses[j].ip);
            free(subset->addresses[j].hostname);
        }
        free(subset->addresses);
        free_ports(subset->ports, subset->port_count);
    }
    free(endpoints->subsets);
}

void kube_object_free(struct kube_object *object)
{
    if (!object) {
        return;
    }
    switch (object->kind) {
    case KUBE_SERVICE:
        free_service(&object->service);
        break;
    case KUBE_ENDPOINTS:
        free_endpoints(&object->endpoints);
        break;
    }
    free(object->ns);
    free(object->name);
    free(object->uid);
    free(object->resource_version);
    free(object);
}

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
    free(event->bad_name);
    *event = (struct kube_event){0};
}

void kube_status_fini(struct kube_status *status)
{
    free(status->message);
    *status = (struct kube_status){0};
}
