/* Lists, watch events and Statuses in JSON (kube_object.h). The text is cut into objects by
 * json_scan and each is parsed by itself: what is wrong inside one stays there, and no tree ever
 * holds more than one. */
#include "kube2sky/kube_object.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/xalloc.h"
#include "kube2sky/fields_json.h"
#include "kube2sky/json_scan.h"
#include "kube2sky/kube_object_json.h"

static void free_json(json_t **json)
{
    json_decref(*json);
}
#define CLEANUP_JSON __attribute__((cleanup(free_json)))

static struct kube_object *new_object(enum kube_kind kind)
{
    struct kube_object *object = xcalloc(1, sizeof(*object));
    object->kind = kind;
    return object;
}

/* The text between the quotes when value is a string without escapes, as names are; else empty. */
static struct slice plain_string(struct slice value)
{
    if (value.len < 2 || value.ptr[0] != '"' || memchr(value.ptr, '\\', value.len)) {
        return slice_of("", 0);
    }
    return slice_of(value.ptr + 1, value.len - 2);
}

/* "<namespace>/<name>" of an object whose JSON does not parse, as far as its brackets match: its
 * owner has to know which one to keep. "" when it cannot be told. */
static char *name_in_text(struct slice text)
{
    struct json_scan object = json_scan_object(text);
    struct slice key, value, metadata = {0}, ns = {0}, name = {0};
    while (json_scan_member(&object, &key, &value)) {
        if (slice_equal(key, slice_str("metadata"))) {
            metadata = value;
        }
    }
    struct json_scan members = json_scan_object(metadata);
    while (json_scan_member(&members, &key, &value)) {
        if (slice_equal(key, slice_str("namespace"))) {
            ns = plain_string(value);
        } else if (slice_equal(key, slice_str("name"))) {
            name = plain_string(value);
        }
    }
    if (ns.len == 0 || name.len == 0) {
        return xstrdup("");
    }
    struct buf full;
    buf_init(&full, ns.len + 1 + name.len);
    buf_append_slice(&full, ns);
    buf_append_char(&full, '/');
    buf_append_slice(&full, name);
    char *result = xstrdup(buf_cstr(&full));
    buf_fini(&full);
    return result;
}

static char *object_name(const struct kube_object *object, struct slice text)
{
    if (!object->ns || !object->name || !*object->ns || !*object->name) {
        return name_in_text(text);
    }
    return xasprintf("%s/%s", object->ns, object->name);
}

/* ---- Lists ---- */

static int decode_items(enum kube_kind kind, struct slice items, kube_object_fn fn,
                        kube_bad_object_fn bad, void *data, struct err *err)
{
    struct json_scan scan = json_scan_array(items);
    struct slice item;
    if (slice_equal(items, slice_str("null"))) {
        return 0; /* how Go writes an empty list that was never filled */
    }
    while (json_scan_element(&scan, &item)) {
        struct kube_object *object = new_object(kind);
        struct err item_err = {0};
        if (kube_object_from_json(item, KUBE_WHOLE, object, &item_err) == 0) {
            fn(data, object);
        } else {
            CLEANUP_FREE char *name = object_name(object, item);
            kube_object_free(object);
            bad(data, name, &item_err);
        }
    }
    return scan.failed ? err_set(err, ERR_SYNTAX, "items: no JSON array, or cut short") : 0;
}

static int decode_list_meta(struct slice text, struct kube_list_meta *meta, struct err *err)
{
    CLEANUP_JSON json_t *json = fields_parse(text, err);
    if (!json) {
        return err_wrap(err, ERR_SYNTAX, "metadata");
    }
    int rc = fields_get_version(json, &meta->resource_version, err);
    if (rc == 0) {
        rc = fields_get_string(json, "continue", &meta->continue_token, err);
    }
    if (rc == 0 && strlen(meta->continue_token) > KUBE_CONTINUE_MAX) {
        rc = err_set(err, ERR_TOO_LARGE, "continue: longer than %d bytes", KUBE_CONTINUE_MAX);
    }
    return rc < 0 ? err_wrap(err, rc, "metadata") : 0;
}

int kube_decode_list(enum kube_kind kind, struct slice body, kube_object_fn fn,
                     kube_bad_object_fn bad, void *data, struct kube_list_meta *ret_meta,
                     struct err *err)
{
    struct kube_list_meta meta = {0};
    struct json_scan scan = json_scan_object(body);
    struct slice key, value;
    bool has_items = false;
    int rc = 0;
    while (rc == 0 && json_scan_member(&scan, &key, &value)) {
        if (slice_equal(key, slice_str("items"))) {
            has_items = true;
            rc = decode_items(kind, value, fn, bad, data, err);
        } else if (slice_equal(key, slice_str("metadata"))) {
            kube_list_meta_fini(&meta);
            rc = decode_list_meta(value, &meta, err);
        }
    }
    if (rc == 0 && scan.failed) {
        rc = err_set(err, ERR_SYNTAX, "no JSON object, or cut short");
    } else if (rc == 0 && !has_items) {
        rc = err_set(err, ERR_SYNTAX, "items: missing");
    } else if (rc == 0 && (!meta.resource_version || !*meta.resource_version)) {
        rc = err_set(err, ERR_SYNTAX, "metadata.resourceVersion: missing");
    }
    if (rc < 0) {
        kube_list_meta_fini(&meta);
        return err_wrap(err, rc, "list");
    }
    *ret_meta = meta;
    return 0;
}

/* ---- Watch events ---- */

bool kube_decode_status(struct slice body, struct kube_status *ret_status)
{
    CLEANUP_JSON json_t *json = fields_parse(body, NULL);
    const char *kind = json_string_value(json_object_get(json, "kind"));
    if (!kind || strcmp(kind, "Status") != 0) {
        return false;
    }
    json_int_t code = json_integer_value(json_object_get(json, "code"));
    const char *message = json_string_value(json_object_get(json, "message"));
    ret_status->code = code > 0 && code < 1000 ? (int)code : 0;
    ret_status->message = xstrdup(message ? message : "");
    return true;
}

static void decode_error_event(struct slice text, struct kube_event *event, struct err *err)
{
    struct kube_status status = {0};
    event->kind = KUBE_EVENT_ERROR;
    if (kube_decode_status(text, &status)) {
        event->status_code = status.code;
        err_set(err, status.code == 410 ? ERR_COMPACTED : ERR_PROTOCOL, "%d %s", status.code,
                status.message);
    } else {
        err_set(err, ERR_PROTOCOL, "an ERROR event without a Status");
    }
    kube_status_fini(&status);
}

static int decode_bookmark(struct slice text, struct kube_event *event, struct err *err)
{
    CLEANUP_JSON json_t *json = fields_parse(text, err);
    json_t *metadata = NULL;
    event->kind = KUBE_EVENT_BOOKMARK;
    int rc = json ? fields_get_object(json, "metadata", &metadata, err) : ERR_SYNTAX;
    if (rc == 0) {
        rc = fields_get_version(metadata, &event->resource_version, err);
    }
    if (rc == 0 && !*event->resource_version) {
        rc = err_set(err, ERR_SYNTAX, "metadata.resourceVersion: missing");
    }
    return rc < 0 ? err_wrap(err, rc, "bookmark") : 0;
}

static void decode_object_event(enum kube_kind kind, enum kube_event_kind event_kind,
                                struct slice text, struct kube_event *event, struct err *err)
{
    struct kube_object *object = new_object(kind);
    enum kube_object_part part = event_kind == KUBE_EVENT_DELETE ? KUBE_METADATA_ONLY : KUBE_WHOLE;
    int rc = kube_object_from_json(text, part, object, err);
    if (object->resource_version && *object->resource_version) {
        event->resource_version = xstrdup(object->resource_version);
    }
    if (rc < 0) {
        event->kind = KUBE_EVENT_BAD;
        event->bad_name = object_name(object, text);
        kube_object_free(object);
    } else {
        event->kind = event_kind;
        event->object = object;
    }
}

int kube_decode_event(enum kube_kind kind, struct slice line, struct kube_event *ret_event,
                      struct err *err)
{
    struct json_scan scan = json_scan_object(line);
    struct slice key, value, type = {0}, object = {0};
    struct kube_event event = {0};
    int rc = 0;
    while (json_scan_member(&scan, &key, &value)) {
        if (slice_equal(key, slice_str("type"))) {
            type = value;
        } else if (slice_equal(key, slice_str("object"))) {
            object = value;
        }
    }
    if (scan.failed || object.len == 0) {
        return err_set(err, ERR_SYNTAX, "watch event: no JSON object with type and object");
    }
    if (slice_equal(type, slice_str("\"ADDED\"")) || slice_equal(type, slice_str("\"MODIFIED\""))) {
        decode_object_event(kind, KUBE_EVENT_UPSERT, object, &event, err);
    } else if (slice_equal(type, slice_str("\"DELETED\""))) {
        decode_object_event(kind, KUBE_EVENT_DELETE, object, &event, err);
    } else if (slice_equal(type, slice_str("\"BOOKMARK\""))) {
        rc = decode_bookmark(object, &event, err);
    } else if (slice_equal(type, slice_str("\"ERROR\""))) {
        decode_error_event(object, &event, err);
    } else {
        rc = err_set(err, ERR_SYNTAX, "watch event: unknown type %.*s",
                     (int)(type.len > 40 ? 40 : type.len), type.ptr ? type.ptr : "");
    }
    if (rc < 0) {
        kube_event_fini(&event);
        return rc;
    }
    *ret_event = event;
    return 0;
}
