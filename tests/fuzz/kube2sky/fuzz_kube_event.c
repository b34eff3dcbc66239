/* One line of a watch, and a Status: kube_object.h's decoders over arbitrary bytes. */
#include <stdlib.h>

#include "kube2sky/api/kube_object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the header promises for each kind of event. */
static void check_event(const struct kube_event *event)
{
    bool has_object = event->kind == KUBE_EVENT_UPSERT || event->kind == KUBE_EVENT_DELETE;
    if (has_object != (event->object != NULL) ||
        (event->kind == KUBE_EVENT_BOOKMARK && !event->resource_version) ||
        (has_object &&
         (!*event->object->ns != !kube_kind_is_namespaced(event->object->kind) ||
          !*event->object->name || !event->object->fault_count != !*event->object->faults))) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int kind = 0; kind < KUBE_KIND_COUNT; kind++) {
        struct kube_event event;
        struct err err;
        if (kube_decode_event(KUBE_JSON, (enum kube_kind)kind, slice_of(data, size), &event,
                              &err) == 0) {
            check_event(&event);
            kube_event_fini(&event);
        }
    }
    struct kube_status status;
    if (kube_decode_status(slice_of(data, size), &status)) {
        kube_status_fini(&status);
    }
    return 0;
}
