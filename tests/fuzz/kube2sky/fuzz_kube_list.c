/* A page of a list: kube_decode_list over arbitrary bytes. */
#include <stdlib.h>

#include "kube2sky/kube_object.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_object(void *data, struct kube_object *object)
{
    (void)data;
    if (!*object->ns || !*object->name) {
        abort();
    }
    kube_object_free(object);
}

static void on_bad(void *data, const char *name, const struct err *err)
{
    (void)data;
    if (!name || err->code >= 0) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int kind = 0; kind < KUBE_KIND_COUNT; kind++) {
        struct kube_list_meta meta;
        struct err err;
        if (kube_decode_list((enum kube_kind)kind, slice_of(data, size), on_object, on_bad, NULL,
                             &meta, &err) == 0) {
            kube_list_meta_fini(&meta);
        }
    }
    return 0;
}
