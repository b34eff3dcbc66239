/* Splits lists, watch events and Statuses in JSON into objects, by brackets, and parses each by
 * itself. So an error stays within its object, and a tree holds only one. */
#include <jansson.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "kube2sky/api/fields_json_internal.h"
#include "kube2sky/api/json_scan_internal.h"
#include "kube2sky/api/kube_codec_internal.h"
#include "kube2sky/api/kube_object_decode_internal.h"

static void free_json(json_t **json)
{
    json_decref(*json);
}
#define CLEANUP_JSON __attribute__((cleanup(free_json)))

/* Returns the text between the quotes if value is a string without escapes, as names are; else
 * empty. */
static struct slice plain_string(struct slice value)
{
    if (value.len < 2 || value.ptr[0] != '"' || memchr(value.ptr, '\\', value.len)) {
        return slice_of("", 0);
    }
    return slice_of(value.ptr + 1, value.len - 2);
}

/* Finds the name of an object, and checks that brackets match. */
static struct kube_full_name kube_list_json_find_name(struct slice text)
{
    struct json_scan object = json_scan_object(text);
    struct slice key, value, metadata = {0};
    struct kube_full_name full = {0};
    while (json_scan_member(&object, &key, &value)) {
        if (slice_equal(key, slice_str("metadata"))) {
            metadata = value;
        }
    }
    struct json_scan members = json_scan_object(metadata);
    while (json_scan_member(&members, &key, &value)) {
        if (slice_equal(key, slice_str("namespace"))) {
            full.ns = plain_string(value);
        } else if (slice_equal(key, slice_str("name"))) {
            full.name = plain_string(value);
        }
    }
    return full;
}

/* ---- Lists ---- */

/* Says what must come next. */
enum {
    AT_START,
    AT_FIRST_KEY,
    AT_KEY,
    AT_ITEMS,
    AT_VALUE,
    AFTER_VALUE,
    AT_FIRST_ITEM,
    AT_ITEM,
    AFTER_ITEM,
    AT_END,
};

static int no_list(struct err *err)
{
    return err_set(err, ERR_SYNTAX, "not a JSON object, or cut short");
}

static int no_array(struct err *err)
{
    return err_set(err, ERR_SYNTAX, "items: not a JSON array, or cut short");
}

/* Takes a key with its colon; sets *ret_used to 0 if they are incomplete. */
static int kube_list_json_take_key(struct kube_list_cut *cut, struct slice text, size_t *ret_used,
                                   struct err *err)
{
    struct slice key;
    if (text.ptr[0] != '"') {
        return no_list(err);
    }
    if (!json_value_take(&cut->value, text, &key)) {
        cut->value = (struct json_value){0}; /* is rescanned with the rest: keys are short */
        return 0;
    }
    size_t colon = key.len;
    while (colon < text.len && json_scan_is_blank(text.ptr[colon])) {
        colon++;
    }
    if (colon == text.len) {
        return 0;
    }
    if (text.ptr[colon] != ':') {
        return no_list(err);
    }
    cut->is_meta = slice_equal(key, slice_str("\"metadata\""));
    cut->step = slice_equal(key, slice_str("\"items\"")) ? AT_ITEMS : AT_VALUE;
    *ret_used = colon + 1;
    return 0;
}

/* Takes the value of any member but items. */
static int take_member(struct kube_list_cut *cut, struct slice text, size_t *ret_used,
                       struct err *err)
{
    struct slice value;
    int rc = 0;
    if (!json_value_take(&cut->value, text, &value)) {
        return 0;
    }
    if (value.len == 0) {
        return no_list(err);
    }
    if (cut->is_meta) {
        rc = kube_list_meta_decode(KUBE_JSON, value, &cut->meta, err);
    }
    cut->step = AFTER_VALUE;
    *ret_used = value.len;
    return rc;
}

/* Takes the beginning of an array, or null, as Go writes a list that was never filled. */
static int open_items(struct kube_list_cut *cut, struct slice text, size_t *ret_used,
                      struct err *err)
{
    struct slice value;
    cut->has_items = true;
    if (text.ptr[0] == '[') {
        cut->step = AT_FIRST_ITEM;
        *ret_used = 1;
        return 0;
    }
    if (text.ptr[0] != 'n') {
        return no_array(err);
    }
    if (!json_value_take(&cut->value, text, &value)) {
        return 0;
    }
    cut->step = AFTER_VALUE;
    *ret_used = value.len;
    return slice_equal(value, slice_str("null")) ? 0 : no_array(err);
}

static int kube_list_json_take_item(struct kube_list_cut *cut, struct slice text, size_t *ret_used,
                                    struct err *err)
{
    struct slice item;
    if (!json_value_take(&cut->value, text, &item)) {
        return 0;
    }
    if (item.len == 0) {
        return no_array(err);
    }
    cut->on_item(cut->data, item);
    cut->step = AFTER_ITEM;
    *ret_used = item.len;
    return 0;
}

/* Takes one bracket, comma, key or value; the text has no leading blank. */
static int kube_list_json_take_step(struct kube_list_cut *cut, struct slice text, size_t *ret_used,
                                    struct err *err)
{
    char c = text.ptr[0];
    int next = -1;
    switch (cut->step) {
    case AT_START:
        next = c == '{' ? AT_FIRST_KEY : -1;
        break;
    case AT_FIRST_KEY:
        if (c != '}') {
            return kube_list_json_take_key(cut, text, ret_used, err);
        }
        next = AT_END;
        break;
    case AT_KEY:
        return kube_list_json_take_key(cut, text, ret_used, err);
    case AT_ITEMS:
        return open_items(cut, text, ret_used, err);
    case AT_VALUE:
        return take_member(cut, text, ret_used, err);
    case AFTER_VALUE:
        next = c == ',' ? AT_KEY : c == '}' ? AT_END : -1;
        break;
    case AT_FIRST_ITEM:
        if (c != ']') {
            return kube_list_json_take_item(cut, text, ret_used, err);
        }
        next = AFTER_VALUE;
        break;
    case AT_ITEM:
        return kube_list_json_take_item(cut, text, ret_used, err);
    case AFTER_ITEM:
        next = c == ',' ? AT_ITEM : c == ']' ? AFTER_VALUE : -1;
        break;
    default: /* nothing may follow the end */
        break;
    }
    if (next < 0) {
        return cut->step == AFTER_ITEM ? no_array(err) : no_list(err);
    }
    cut->step = next;
    *ret_used = 1;
    return 0;
}

static int kube_list_json_cut_list(struct kube_list_cut *cut, struct slice bytes, size_t *ret_used,
                                   struct err *err)
{
    size_t blanks = 0;
    while (blanks < bytes.len && json_scan_is_blank(bytes.ptr[blanks])) {
        blanks++;
    }
    *ret_used = blanks;
    return blanks > 0 ? 0 : kube_list_json_take_step(cut, bytes, ret_used, err);
}

static int kube_list_json_cut_list_end(const struct kube_list_cut *cut, struct err *err)
{
    if (cut->step != AT_END) {
        return no_list(err);
    }
    return cut->has_items ? 0 : err_set(err, ERR_SYNTAX, "items: missing");
}

/* ---- Watch events ---- */

static bool kube_list_json_decode_status(struct slice body, struct kube_status *ret_status)
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

static int kube_list_json_cut_event(struct slice line, struct slice *ret_type,
                                    struct slice *ret_object, struct err *err)
{
    struct json_scan scan = json_scan_object(line);
    struct slice key, value;
    while (json_scan_member(&scan, &key, &value)) {
        if (slice_equal(key, slice_str("type"))) {
            *ret_type = plain_string(value);
        } else if (slice_equal(key, slice_str("object"))) {
            *ret_object = value;
        }
    }
    if (scan.failed || ret_object->len == 0) {
        return err_set(err, ERR_SYNTAX, "not a JSON object with type and object");
    }
    return 0;
}

const struct kube_codec kube_codec_json = {
    .cut = kube_list_json_cut_list,
    .cut_end = kube_list_json_cut_list_end,
    .event = kube_list_json_cut_event,
    .full_name = kube_list_json_find_name,
    .status = kube_list_json_decode_status,
    .status_body = kube_list_json_decode_status,
};
