/* Decodes lists and watch events in any encoding (kube_object.h): handles each object, and
 * interprets event types. */
#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/xalloc.h"
#include "kube2sky/api/kube_codec_internal.h"
#include "kube2sky/api/kube_object_decode_internal.h"

static const struct kube_codec *codec_of(enum kube_encoding encoding)
{
    return encoding == KUBE_PROTOBUF ? &kube_codec_proto : &kube_codec_json;
}

/* Decodes an object, perhaps garbled. Returns NULL if its name is unknown, with the reason in
 * err. */
static struct kube_object *api_kube_decode(enum kube_encoding encoding, enum kube_kind kind,
                                           enum kube_object_part part, struct slice text,
                                           struct kube_draft *draft, struct err *err)
{
    struct kube_object *object = NULL;
    struct kube_full_name full;
    struct err ignored;
    if (kube_object_decode(encoding, kind, text, part, draft, &object, err) == 0 ||
        kube_draft_check_name(object, &ignored) == 0) {
        return object;
    }
    full = codec_of(encoding)->full_name(text);
    kube_draft_begin(draft, kind);
    kube_draft_garble(draft, err);
    bool has_name = kube_draft_text(draft, full.ns, &draft->object.ns, &ignored) == 0 &&
                    kube_draft_text(draft, full.name, &draft->object.name, &ignored) == 0 &&
                    kube_draft_check_name(&draft->object, &ignored) == 0;
    kube_object_free(object);
    return has_name ? kube_draft_pack(draft, KUBE_WHOLE) : NULL;
}

/* ---- Lists ---- */

/* Bytes appended at a time to an incomplete item. */
enum { PIECE_BYTES = 64 * 1024 };

struct kube_list {
    enum kube_encoding encoding;
    enum kube_kind kind;
    struct kube_list_cut cut;
    struct buf partial; /* bytes not used yet: at most the beginning of an item */
    struct kube_draft draft;
    kube_object_fn fn;
    kube_bad_object_fn bad;
    void *data;
};

static void on_item(void *data, struct slice item)
{
    struct kube_list *list = data;
    struct err err = {0};
    struct kube_object *object =
        api_kube_decode(list->encoding, list->kind, KUBE_WHOLE, item, &list->draft, &err);
    if (object) {
        list->fn(list->data, object);
    } else {
        list->bad(list->data, &err);
    }
}

struct kube_list *kube_list_new(enum kube_encoding encoding, enum kube_kind kind, kube_object_fn fn,
                                kube_bad_object_fn bad, void *data)
{
    struct kube_list *list = xcalloc(1, sizeof(*list));
    list->encoding = encoding;
    list->kind = kind;
    list->cut.on_item = on_item;
    list->cut.data = list;
    list->fn = fn;
    list->bad = bad;
    list->data = data;
    buf_init(&list->partial, KUBE_FRAME_MAX + PIECE_BYTES);
    kube_draft_init(&list->draft);
    return list;
}

/* Consumes all complete parts. */
static int cut_parts(struct kube_list *list, struct slice bytes, size_t *ret_used, struct err *err)
{
    size_t pos = 0, used = 0;
    int rc = 0;
    do {
        pos += used;
        used = 0;
        if (pos < bytes.len) {
            rc = codec_of(list->encoding)->cut(&list->cut, slice_skip(bytes, pos), &used, err);
        }
    } while (rc == 0 && used > 0);
    *ret_used = pos;
    return rc;
}

/* Appends the next bytes to those left over; sets *ret_used to their number. */
static int push_behind(struct kube_list *list, struct slice bytes, size_t *ret_used,
                       struct err *err)
{
    size_t used = 0;
    bool is_first = list->partial.len == 0; /* then they all belong to one item */
    size_t len = is_first || bytes.len < PIECE_BYTES ? bytes.len : PIECE_BYTES;
    buf_append(&list->partial, bytes.ptr, len);
    if (list->partial.failed) {
        return err_set(err, ERR_TOO_LARGE, "an item is longer than %d bytes", KUBE_FRAME_MAX);
    }
    int rc = cut_parts(list, buf_slice(&list->partial), &used, err);
    buf_consume(&list->partial, used);
    *ret_used = len;
    return rc;
}

int kube_list_push(struct kube_list *list, struct slice bytes, struct err *err)
{
    int rc = 0;
    while (rc == 0 && bytes.len > 0) {
        size_t used = 0;
        if (list->partial.len > 0) {
            rc = push_behind(list, bytes, &used, err);
        } else {
            rc = cut_parts(list, bytes, &used, err);
            if (rc == 0 && used == 0) {
                rc = push_behind(list, bytes, &used, err);
            }
        }
        bytes = slice_skip(bytes, used);
    }
    return rc < 0 ? err_wrap(err, rc, "list") : 0;
}

int kube_list_end(struct kube_list *list, struct kube_list_meta *ret_meta, struct err *err)
{
    struct kube_list_meta *meta = &list->cut.meta;
    list->cut.left = list->partial.len;
    int rc = codec_of(list->encoding)->cut_end(&list->cut, err);
    if (rc == 0 && (!meta->resource_version || !*meta->resource_version)) {
        rc = err_set(err, ERR_SYNTAX, "metadata.resourceVersion: missing");
    }
    if (rc < 0) {
        return err_wrap(err, rc, "list");
    }
    *ret_meta = *meta;
    *meta = (struct kube_list_meta){0};
    return 0;
}

void kube_list_free(struct kube_list *list)
{
    if (list) {
        kube_list_meta_fini(&list->cut.meta);
        kube_draft_fini(&list->draft);
        buf_fini(&list->partial);
        free(list);
    }
}

/* ---- Watch events ---- */

static void decode_error(const struct kube_codec *codec, struct slice object,
                         struct kube_event *event, struct err *err)
{
    struct kube_status status = {0};
    event->kind = KUBE_EVENT_ERROR;
    if (codec->status(object, &status)) {
        event->status_code = status.code;
        err_set(err, status.code == 410 ? ERR_COMPACTED : ERR_PROTOCOL, "%d %s", status.code,
                status.message);
    } else {
        err_set(err, ERR_PROTOCOL, "an ERROR event without a Status");
    }
    kube_status_fini(&status);
}

static void decode_change(enum kube_encoding encoding, enum kube_kind kind,
                          enum kube_event_kind event_kind, struct slice text,
                          struct kube_event *event, struct err *err)
{
    struct kube_draft draft;
    enum kube_object_part part = event_kind == KUBE_EVENT_DELETE ? KUBE_METADATA_ONLY : KUBE_WHOLE;
    kube_draft_init(&draft);
    event->object = api_kube_decode(encoding, kind, part, text, &draft, err);
    event->kind = event->object ? event_kind : KUBE_EVENT_BAD;
    if (event->object && *event->object->resource_version) {
        event->resource_version = xstrdup(event->object->resource_version);
    }
    kube_draft_fini(&draft);
}

int kube_decode_event(enum kube_encoding encoding, enum kube_kind kind, struct slice frame,
                      struct kube_event *ret_event, struct err *err)
{
    const struct kube_codec *codec = codec_of(encoding);
    struct slice type = {0}, object = {0};
    struct kube_event event = {0};
    int rc = codec->event(frame, &type, &object, err);
    if (rc < 0) {
        return err_wrap(err, rc, "watch event");
    }
    if (slice_equal(type, slice_str("ADDED")) || slice_equal(type, slice_str("MODIFIED"))) {
        decode_change(encoding, kind, KUBE_EVENT_UPSERT, object, &event, err);
    } else if (slice_equal(type, slice_str("DELETED"))) {
        decode_change(encoding, kind, KUBE_EVENT_DELETE, object, &event, err);
    } else if (slice_equal(type, slice_str("BOOKMARK"))) {
        event.kind = KUBE_EVENT_BOOKMARK;
        rc = kube_bookmark_decode(encoding, object, &event, err);
        rc = rc < 0 ? err_wrap(err, rc, "bookmark") : 0;
    } else if (slice_equal(type, slice_str("ERROR"))) {
        decode_error(codec, object, &event, err);
    } else {
        rc = err_set(err, ERR_SYNTAX, "watch event: unknown type `%.*s`",
                     (int)(type.len > 40 ? 40 : type.len), type.ptr ? type.ptr : "");
    }
    if (rc == 0) {
        *ret_event = event;
    }
    return rc;
}

bool kube_decode_status(struct slice body, struct kube_status *ret_status)
{
    return kube_codec_proto.status_body(body, ret_status) ||
           kube_codec_json.status_body(body, ret_status);
}
