/* A page of a list, in both encodings: pieces of any size give the same objects and the same
 * outcome as a single piece. The first byte is the piece size. */
#include "common/base/buf.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/unit/kube2sky/api/whole_list.h"

/* The results that the header promises to be the same. */
struct told {
    size_t objects;
    size_t bad;
    size_t name_bytes;
    int rc;
};

static void kube_list_on_object(void *data, struct kube_object *object)
{
    struct told *told = data;
    fuzz_check(!*object->ns == !kube_kind_is_namespaced(object->kind) && *object->name);
    told->objects++;
    told->name_bytes += strlen(object->name);
    kube_object_free(object);
}

static void kube_list_on_bad(void *data, const struct err *err)
{
    struct told *told = data;
    fuzz_check(err->code < 0);
    told->bad++;
}

static struct told kube_list_decode(enum kube_encoding encoding, enum kube_kind kind,
                                    struct slice body, size_t piece)
{
    struct told told = {0};
    struct kube_list_meta meta = {0};
    struct err err;
    told.rc = decode_pieces(encoding, kind, body, piece, kube_list_on_object, kube_list_on_bad,
                            &told, &meta, &err);
    fuzz_check(told.rc != 0 || *meta.resource_version);
    kube_list_meta_fini(&meta);
    return told;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum kube_encoding encodings[] = {KUBE_JSON, KUBE_PROTOBUF};
    struct slice body = size ? slice_of(data + 1, size - 1) : slice_of("", 0);
    size_t piece = size && data[0] ? data[0] : 1;
    for (int kind = 0; kind < KUBE_KIND_COUNT; kind++) {
        for (size_t i = 0; i < ARRAY_LEN(encodings); i++) {
            struct told whole =
                kube_list_decode(encodings[i], (enum kube_kind)kind, body, body.len + 1);
            struct told pieces = kube_list_decode(encodings[i], (enum kube_kind)kind, body, piece);
            fuzz_check(whole.objects == pieces.objects && whole.bad == pieces.bad &&
                       whole.name_bytes == pieces.name_bytes &&
                       (whole.rc == 0) == (pieces.rc == 0));
        }
    }
    return 0;
}
