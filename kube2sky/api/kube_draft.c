#include "kube2sky/api/kube_draft_internal.h"

#include <string.h>

#include "kube2sky/api/kube_shape_internal.h"

/* An object has at most 8 MiB. Large ones consist mostly of Endpoints addresses, each 25 bytes of
 * protobuf, which take 200 bytes while decoded. */
enum { DRAFT_BYTES_MAX = 8 * KUBE_FRAME_MAX };

/* Room for an object's faults: enough to find the first ones, and at least one whole message. */
enum { FAULTS_BYTES_MAX = sizeof((struct err){0}.msg) };

static struct kube_kept kept_members;

void kube_object_keep(struct kube_kept kept)
{
    kept_members = kept;
}

const struct kube_kept *kube_draft_kept(void)
{
    return &kept_members;
}

void kube_draft_init(struct kube_draft *draft)
{
    *draft = (struct kube_draft){.object = {.ns = ""}};
    arena_init(&draft->arena, DRAFT_BYTES_MAX);
    buf_init(&draft->faults, FAULTS_BYTES_MAX);
}

void kube_draft_fini(struct kube_draft *draft)
{
    buf_fini(&draft->faults);
    arena_fini(&draft->arena);
}

void kube_draft_begin(struct kube_draft *draft, enum kube_kind kind)
{
    arena_clear(&draft->arena);
    buf_clear(&draft->faults);
    draft->object =
        (struct kube_object){.kind = kind, .ns = "", .name = "", .resource_version = ""};
    kube_shape_clear(&draft->object);
}

static void add_fault(struct kube_draft *draft, const char *text)
{
    struct buf *faults = &draft->faults;
    const char *separator = faults->len ? "; " : "";
    if (faults->len + strlen(separator) + strlen(text) <= FAULTS_BYTES_MAX) {
        buf_printf(faults, "%s%s", separator, text);
    }
}

int kube_draft_leave_out(struct kube_draft *draft, int rc, const struct err *err)
{
    if (rc == 0 || rc == ERR_TOO_LARGE) {
        return rc;
    }
    add_fault(draft, err->msg);
    draft->object.fault_count += draft->object.fault_count < UINT16_MAX;
    return 0;
}

int kube_draft_check_name(const struct kube_object *object, struct err *err)
{
    bool is_namespaced = kube_kind_is_namespaced(object->kind);
    if (*object->name && !*object->ns == !is_namespaced) {
        return 0;
    }
    return err_set(err, ERR_SYNTAX, "metadata: expected a name and %s namespace",
                   is_namespaced ? "a" : "no");
}

static bool is_slice(const struct kube_object *object)
{
    return kube_kind_localized(object->kind) == KUBE_SLICE;
}

void kube_draft_garble(struct kube_draft *draft, const struct err *err)
{
    const char *service = is_slice(&draft->object) ? draft->object.slice.service : "";
    buf_clear(&draft->faults);
    add_fault(draft, err->msg);
    draft->object.fault_count = 1;
    draft->object.is_garbled = true;
    kube_shape_clear(&draft->object);
    if (is_slice(&draft->object)) {
        draft->object.slice.service = service;
    }
}

static int kube_draft_too_large(struct err *err)
{
    return err_set(err, ERR_TOO_LARGE, "decodes to more than %d bytes", DRAFT_BYTES_MAX);
}

void *kube_draft_array(struct kube_draft *draft, size_t count, size_t size, struct err *err)
{
    void *array = NULL;
    if (count <= DRAFT_BYTES_MAX / size) {
        array = arena_alloc(&draft->arena, count * size);
    }
    if (!array) {
        kube_draft_too_large(err);
        return NULL;
    }
    return memset(array, 0, count * size);
}

int kube_draft_text(struct kube_draft *draft, struct slice text, const char **ret_text,
                    struct err *err)
{
    if (text.len == 0) {
        *ret_text = "";
        return 0;
    }
    if (memchr(text.ptr, '\0', text.len)) {
        return err_set(err, ERR_SYNTAX, "contains a NUL");
    }
    char *copy = arena_alloc(&draft->arena, text.len + 1);
    if (!copy) {
        return kube_draft_too_large(err);
    }
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    *ret_text = copy;
    return 0;
}

/* Returns a copy with namespace, name and version alone. */
static struct kube_object kube_draft_identity_only(const struct kube_object *object)
{
    struct kube_draft draft;
    kube_draft_init(&draft);
    kube_draft_begin(&draft, object->kind);
    draft.object.ns = object->ns;
    draft.object.name = object->name;
    draft.object.resource_version = object->resource_version;
    struct kube_object result = draft.object;
    kube_draft_fini(&draft);
    return result;
}

struct kube_object *kube_draft_pack(struct kube_draft *draft, enum kube_object_part part)
{
    struct kube_object from =
        part == KUBE_METADATA_ONLY ? kube_draft_identity_only(&draft->object) : draft->object;
    from.faults = part == KUBE_METADATA_ONLY ? "" : buf_cstr(&draft->faults);
    return kube_shape_pack(&from);
}

struct kube_object *kube_object_bare(const struct kube_object *object)
{
    struct kube_draft draft;
    kube_draft_init(&draft);
    kube_draft_begin(&draft, object->kind);
    draft.object.ns = object->ns;
    draft.object.name = object->name;
    draft.object.is_bare = true;
    draft.object.is_garbled = object->is_garbled;
    draft.object.fault_count = object->fault_count;
    draft.object.has_port_fault = object->has_port_fault;
    draft.object.has_annotation_fault = object->has_annotation_fault;
    buf_append_str(&draft.faults, object->faults);
    if (is_slice(object)) {
        draft.object.slice.service = object->slice.service;
    }
    struct kube_object *copy = kube_draft_pack(&draft, KUBE_WHOLE);
    kube_draft_fini(&draft);
    return copy;
}
