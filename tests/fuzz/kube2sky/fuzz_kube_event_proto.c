/* One watch event, and a Status, in protobuf: kube_object.h's decoders over arbitrary bytes. */
#include <stdlib.h>

#include "kube2sky/api/kube_object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

static void decode(enum kube_kind kind, struct slice bytes)
{
    struct kube_event event;
    struct err err;
    if (kube_decode_event(KUBE_PROTOBUF, kind, bytes, &event, &err) == 0) {
        check_event(&event);
        kube_event_fini(&event);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kube_status status;
    for (int kind = 0; kind < KUBE_KIND_COUNT; kind++) {
        decode((enum kube_kind)kind, slice_of(data, size));
    }
    if (kube_decode_status(slice_of(data, size), &status)) {
        kube_status_fini(&status);
    }
    return 0;
}
