/* Shared by the fuzz targets of watch events: one event decoded and checked, of each kind. */
#ifndef TESTS_FUZZ_KUBE2SKY_KUBE_EVENT_CHECK_H
#define TESTS_FUZZ_KUBE2SKY_KUBE_EVENT_CHECK_H

#include "kube2sky/api/kube_object.h"
#include "tests/fuzz/fuzz_target.h"

/* Checks the header's promises for each kind of event. */
static inline void kube_event_check(const struct kube_event *event)
{
    bool has_object = event->kind == KUBE_EVENT_UPSERT || event->kind == KUBE_EVENT_DELETE;
    fuzz_check(has_object == (event->object != NULL) &&
               (event->kind != KUBE_EVENT_BOOKMARK || event->resource_version) &&
               (!has_object ||
                (!*event->object->ns == !kube_kind_is_namespaced(event->object->kind) &&
                 *event->object->name && !event->object->fault_count == !*event->object->faults)));
}

/* The bytes as an event of each kind, and as a Status, which is JSON whatever the events are. */
static inline void kube_event_check_all(enum kube_encoding encoding, struct slice bytes)
{
    struct kube_status status;
    kube_object_keep((struct kube_kept){.aliases = true, .uids = true, .external = true});
    for (int kind = 0; kind < KUBE_KIND_COUNT; kind++) {
        struct kube_event event;
        struct err err;
        if (kube_decode_event(encoding, (enum kube_kind)kind, bytes, &event, &err) == 0) {
            kube_event_check(&event);
            kube_event_fini(&event);
        }
    }
    if (kube_decode_status(bytes, &status)) {
        kube_status_fini(&status);
    }
}

#endif
