#include "kube2sky/api/kube_object_decode_internal.h"

#include <string.h>

#include "common/base/xalloc.h"
#include "kube2sky/api/kube_content_decode_internal.h"

#define INITIAL_END "k8s.io/initial-events-end" /* its value is "true" */

/* ---- Metadata ---- */

/* Reads a version, of an object or of a list. */
static const char *read_version(struct fields_reader *r, const struct fields *metadata,
                                uint32_t number)
{
    const char *version = fields_text(r, metadata, "resourceVersion", number);
    if (strlen(version) <= KUBE_VERSION_MAX) {
        return version;
    }
    fields_check(
        r, metadata,
        err_set(r->err, ERR_TOO_LARGE, "resourceVersion: longer than %d bytes", KUBE_VERSION_MAX));
    return "";
}

static void decode_metadata(struct fields_reader *r, const struct fields *object)
{
    struct kube_object *draft = &r->draft->object;
    const struct fields *metadata = &r->metadata;
    r->metadata = fields_inner(r, object, "metadata", 1);
    draft->ns = fields_text(r, metadata, "namespace", 3);
    draft->name = fields_text(r, metadata, "name", 1);
    draft->resource_version = read_version(r, metadata, 6);
    r->labels = fields_map(r, metadata, "labels", 11);
    if (r->rc == 0) {
        r->annotations = fields_map(r, metadata, "annotations", 12);
        fields_leave_out_annotation(r);
    }
}

/* ---- Objects ---- */

static void decode_object(struct fields_reader *r, const struct fields *object,
                          enum kube_object_part part)
{
    const enum kube_kind kind = r->draft->object.kind;
    decode_metadata(r, object);
    if (r->rc == 0) {
        r->rc = kube_draft_check_name(&r->draft->object, r->err);
    }
    if (r->rc < 0 || part == KUBE_METADATA_ONLY) {
        return;
    }
    if (r->encoding == KUBE_PROTOBUF && (int)kind >= (int)KUBE_PROTOBUF_KIND_COUNT) {
        r->rc = err_set(r->err, ERR_SYNTAX, "expected JSON, found protobuf");
    } else {
        kube_content_decode(r, object);
    }
}

int kube_object_decode(enum kube_encoding encoding, enum kube_kind kind, struct slice text,
                       enum kube_object_part part, struct kube_draft *draft,
                       struct kube_object **ret_object, struct err *err)
{
    struct fields_reader r = {.encoding = encoding, .draft = draft, .err = err};
    kube_draft_begin(draft, kind);
    const struct fields object = fields_open(&r, text);
    decode_object(&r, &object, part);
    if (r.rc < 0) {
        kube_draft_garble(draft, err);
    }
    *ret_object = kube_draft_pack(draft, part);
    fields_close(&r);
    return r.rc;
}

/* ---- Lists and bookmarks ---- */

int kube_list_meta_decode(enum kube_encoding encoding, struct slice text,
                          struct kube_list_meta *meta, struct err *err)
{
    struct kube_draft draft;
    struct fields_reader r = {.encoding = encoding, .draft = &draft, .err = err};
    kube_draft_init(&draft);
    const struct fields metadata = fields_open(&r, text);
    const char *version = read_version(&r, &metadata, 2);
    const char *token = fields_text(&r, &metadata, "continue", 3);
    if (strlen(token) > KUBE_CONTINUE_MAX) {
        r.rc = err_set(err, ERR_TOO_LARGE, "continue: longer than %d bytes", KUBE_CONTINUE_MAX);
    }
    if (r.rc == 0) {
        kube_list_meta_fini(meta);
        meta->resource_version = xstrdup(version);
        meta->continue_token = xstrdup(token);
    }
    fields_close(&r);
    kube_draft_fini(&draft);
    return r.rc < 0 ? err_wrap(err, r.rc, "metadata") : 0;
}

int kube_bookmark_decode(enum kube_encoding encoding, struct slice text, struct kube_event *event,
                         struct err *err)
{
    struct kube_draft draft;
    struct fields_reader r = {.encoding = encoding, .draft = &draft, .err = err};
    kube_draft_init(&draft);
    kube_draft_begin(&draft, KUBE_NAMESPACE); /* any kind has metadata */
    const struct fields object = fields_open(&r, text);
    decode_metadata(&r, &object);
    if (r.rc == 0 && !*draft.object.resource_version) {
        r.rc = err_set(err, ERR_SYNTAX, "metadata.resourceVersion: missing");
    }
    if (r.rc == 0) {
        event->resource_version = xstrdup(draft.object.resource_version);
        event->is_initial_end =
            slice_equal(fields_entry_if_any(&r.annotations, INITIAL_END), slice_str("true"));
    }
    fields_close(&r);
    kube_draft_fini(&draft);
    return r.rc;
}
