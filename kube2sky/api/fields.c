#include "kube2sky/api/fields_internal.h"

#include <assert.h>
#include <jansson.h>
#include <string.h>

#include "common/base/proto_scan.h"
#include "common/base/utc_time.h"

/* ---- Failures ---- */

void fields_check(struct fields_reader *r, const struct fields *at, int rc)
{
    if (rc >= 0 || r->rc < 0) {
        return;
    }
    for (; at && *at->key; at = at->within) {
        if (at->is_item) {
            err_wrap(r->err, rc, "%s[%zu]", at->key, at->index);
        } else {
            err_wrap(r->err, rc, "%s", at->key);
        }
    }
    r->rc = rc;
}

static int not_a_message(struct fields_reader *r)
{
    return err_set(r->err, ERR_SYNTAX, "not a protobuf message");
}

void fields_leave_out(struct fields_reader *r)
{
    r->draft->object.has_port_fault |= r->rc < 0 && r->is_in_ports;
    r->rc = kube_draft_leave_out(r->draft, r->rc, r->err);
}

void fields_leave_out_annotation(struct fields_reader *r)
{
    r->draft->object.has_annotation_fault |= r->rc < 0;
    fields_leave_out(r);
}

/* ---- Messages of protobuf ---- */

static int open_message(struct fields_reader *r, struct slice message, struct fields *ret_fields)
{
    struct proto_scan scan = proto_scan_of(message);
    struct proto_field field;
    ret_fields->message = message;
    for (size_t start = 0; proto_scan_next(&scan, &field); start = scan.reader.pos) {
        if (field.number < FIELDS_NUMBER_END) {
            ret_fields->starts[field.number] = (uint32_t)start + 1;
        }
    }
    return scan.failed ? not_a_message(r) : 0;
}

/* Finds the last field with this number, as every decoder does. Returns 1, 0 if there is none, or a
 * negative code. */
static int find_field(struct fields_reader *r, const struct fields *at, uint32_t number,
                      bool is_bytes, struct proto_field *ret_field)
{
    assert(number < FIELDS_NUMBER_END);
    struct proto_scan scan = proto_scan_of(at->message);
    if (!at->starts[number]) {
        return 0;
    }
    scan.reader.pos = at->starts[number] - 1;
    (void)proto_scan_next(&scan, ret_field); /* it has been read before */
    return ret_field->is_bytes == is_bytes ? 1 : not_a_message(r);
}

/* ---- Whole texts ---- */

struct fields fields_open(struct fields_reader *r, struct slice text)
{
    struct fields object = {.key = ""};
    if (r->encoding == KUBE_PROTOBUF) {
        r->rc = open_message(r, text, &object);
        return object;
    }
    r->json = fields_parse(text, r->err);
    if (!r->json) {
        r->rc = ERR_SYNTAX;
    } else if (!json_is_object(r->json)) {
        r->rc =
            err_set(r->err, ERR_SYNTAX, "expected an object, found %s", fields_type_name(r->json));
    }
    object.json = r->json;
    return object;
}

void fields_close(struct fields_reader *r)
{
    kube_hostnames_fini(&r->hostnames);
    json_decref(r->json);
}

/* ---- Single fields ---- */

/* Takes a text of protobuf. */
static int take_text(struct fields_reader *r, struct slice bytes, const char *key,
                     const char **ret_text)
{
    int rc = kube_draft_text(r->draft, bytes, ret_text, r->err);
    return rc < 0 ? err_wrap(r->err, rc, "%s", key) : 0;
}

const char *fields_text(struct fields_reader *r, const struct fields *at, const char *key,
                        uint32_t number)
{
    const char *text = "";
    struct proto_field field;
    int rc = r->rc;
    if (rc == 0 && r->encoding == KUBE_JSON) {
        rc = fields_get_string(at->json, key, &text, r->err);
    } else if (rc == 0 && (rc = find_field(r, at, number, true, &field)) > 0) {
        rc = take_text(r, field.bytes, key, &text);
    }
    fields_check(r, at, rc);
    return rc < 0 ? "" : text;
}

const char *fields_text_or_none(struct fields_reader *r, const struct fields *at, const char *key,
                                uint32_t number)
{
    if (r->rc < 0) {
        return "";
    }
    const char *text = fields_text(r, at, key, number);
    fields_leave_out(r);
    return text;
}

bool fields_flag(struct fields_reader *r, const struct fields *at, const char *key, uint32_t number,
                 bool when_absent)
{
    bool flag = when_absent;
    struct proto_field field;
    int rc = r->rc;
    if (rc == 0 && r->encoding == KUBE_JSON) {
        rc = fields_get_bool(at->json, key, &flag, r->err);
    } else if (rc == 0 && (rc = find_field(r, at, number, false, &field)) > 0) {
        flag = field.varint != 0;
    }
    fields_check(r, at, rc);
    return flag;
}

int32_t fields_port(struct fields_reader *r, const struct fields *at, const char *key,
                    uint32_t number)
{
    int32_t port = 0;
    struct proto_field field;
    int rc = r->rc;
    if (rc == 0 && r->encoding == KUBE_JSON) {
        rc = fields_get_port(at->json, key, &port, r->err);
    } else if (rc == 0 && (rc = find_field(r, at, number, false, &field)) > 0) {
        rc = fields_check_port(key, (int32_t)field.varint, &port, r->err);
    }
    fields_check(r, at, rc);
    return port;
}

int64_t fields_time_s(struct fields_reader *r, const struct fields *at, const char *key,
                      uint32_t number)
{
    /* The field of a Time, and the last second that JSON can write, 9999-12-31T23:59:59Z. */
    enum { TIME_SECONDS = 1 };
    static const uint64_t max_s = 253402300799;
    struct proto_field time;
    uint64_t s = 0;
    if (r->encoding == KUBE_JSON) {
        return utc_time_parse_s(fields_text_or_none(r, at, key, number));
    }
    bool is_found = find_field(r, at, number, true, &time) > 0 &&
                    proto_scan_find_number(time.bytes, TIME_SECONDS, &s);
    return is_found && s <= max_s ? (int64_t)s : 0;
}

struct fields fields_inner(struct fields_reader *r, const struct fields *at, const char *key,
                           uint32_t number)
{
    struct fields inner = {.within = at, .key = key};
    struct proto_field field;
    json_t *json = NULL;
    int rc = r->rc;
    if (rc == 0 && r->encoding == KUBE_JSON) {
        rc = fields_get_object(at->json, key, &json, r->err);
        inner.json = json;
    } else if (rc == 0 && (rc = find_field(r, at, number, true, &field)) > 0) {
        rc = open_message(r, field.bytes, &inner);
    }
    if (r->rc == 0 && rc < 0 && r->encoding == KUBE_PROTOBUF) {
        err_wrap(r->err, rc, "%s", key);
    }
    fields_check(r, at, rc);
    return inner;
}

/* ---- Arrays ---- */

struct items {
    json_t *array;
    struct proto_scan scan;
    uint32_t number;
    size_t count;
};

/* Counts the items, and checks that they have the right type. */
static struct items fields_open_items(struct fields_reader *r, const struct fields *at,
                                      const char *key, uint32_t number)
{
    struct items items = {.scan = proto_scan_of(at->message), .number = number};
    struct proto_scan scan = items.scan;
    struct proto_field field;
    bool is_right = true;
    int rc = r->rc;
    if (rc == 0 && r->encoding == KUBE_JSON) {
        rc = fields_get_array(at->json, key, &items.array, r->err);
        items.count = json_array_size(items.array);
    } else if (rc == 0 && at->starts[number]) {
        while (proto_scan_next(&scan, &field)) {
            items.count += field.number == number;
            is_right = is_right && (field.number != number || field.is_bytes);
        }
        rc = is_right ? 0 : err_wrap(r->err, not_a_message(r), "%s", key);
    }
    fields_check(r, at, rc);
    return items;
}

void *fields_room(struct fields_reader *r, const struct fields *at, size_t count, size_t size)
{
    void *elements = r->rc == 0 ? kube_draft_array(r->draft, count, size, r->err) : NULL;
    fields_check(r, at, elements ? 0 : ERR_TOO_LARGE);
    return elements;
}

/* Returns the next item of protobuf, of those that were counted. */
static struct slice next_bytes(struct items *items)
{
    struct proto_field field = {.number = 0};
    while (proto_scan_next(&items->scan, &field) && field.number != items->number) {
    }
    return field.bytes;
}

void *fields_items(struct fields_reader *r, const struct fields *at, const char *key,
                   uint32_t number, fields_item_fn fn, size_t size, size_t *ret_count)
{
    struct items items = fields_open_items(r, at, key, number);
    char *elements = fields_room(r, at, items.count, size);
    size_t count = 0;
    for (size_t i = 0; r->rc == 0 && i < items.count; i++) {
        struct fields item = {.key = key, .index = i, .is_item = true};
        json_t *json = NULL;
        if (r->encoding == KUBE_JSON) {
            r->rc = fields_get_element_object(items.array, key, i, &json, r->err);
            item.json = json;
        } else {
            fields_check(r, &item, open_message(r, next_bytes(&items), &item));
        }
        const bool is_wanted = r->rc == 0 && fn(r, &item, elements + count * size);
        count += is_wanted && r->rc == 0;
        fields_leave_out(r);
    }
    *ret_count = count;
    return elements;
}

const char *const *fields_texts(struct fields_reader *r, const struct fields *at, const char *key,
                                uint32_t number, size_t *ret_count)
{
    struct items items = fields_open_items(r, at, key, number);
    const char **texts = fields_room(r, at, items.count, sizeof(*texts));
    size_t count = 0;
    for (size_t i = 0; r->rc == 0 && i < items.count; i++) {
        r->rc = r->encoding == KUBE_JSON
                    ? fields_get_element_string(items.array, key, i, &texts[count], r->err)
                    : take_text(r, next_bytes(&items), key, &texts[count]);
        count += r->rc == 0;
        fields_leave_out(r);
    }
    *ret_count = count;
    return texts;
}

/* ---- Maps ---- */

enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };

struct fields_map fields_map(struct fields_reader *r, const struct fields *at, const char *key,
                             uint32_t number)
{
    struct fields_map map = {.number = number};
    if (r->encoding == KUBE_JSON) {
        map.json = fields_inner(r, at, key, number).json;
    } else if (at->starts[number]) {
        map.message = at->message;
    }
    return map;
}

/* Reads a key and its value; "" are absent. Returns whether both are texts. */
static bool read_map_entry(struct slice entry, struct slice *ret_key, struct slice *ret_value)
{
    struct proto_scan scan = proto_scan_of(entry);
    struct proto_field field;
    bool is_right = true;
    *ret_key = *ret_value = slice_of("", 0);
    while (proto_scan_next(&scan, &field)) {
        if (field.number == ENTRY_KEY || field.number == ENTRY_VALUE) {
            *(field.number == ENTRY_KEY ? ret_key : ret_value) = field.bytes;
            is_right = is_right && field.is_bytes;
        }
    }
    return is_right && !scan.failed;
}

/* Finds the last entry with this key, as map decoders do. */
static bool find_entry(const struct fields_map *map, const char *key, struct slice *ret_value)
{
    struct proto_scan scan = proto_scan_of(map->message);
    struct proto_field field;
    struct slice name, value;
    bool is_found = false;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == map->number && read_map_entry(field.bytes, &name, &value) &&
            slice_equal(name, slice_str(key))) {
            *ret_value = value;
            is_found = true;
        }
    }
    return is_found;
}

const char *fields_entry(struct fields_reader *r, const struct fields_map *map, const char *key)
{
    const char *text = NULL;
    struct slice value;
    if (r->rc == 0 && r->encoding == KUBE_JSON) {
        const json_t *json = json_object_get(map->json, key);
        r->rc = json && !json_is_null(json) ? fields_get_string(map->json, key, &text, r->err) : 0;
    } else if (r->rc == 0 && find_entry(map, key, &value)) {
        r->rc = take_text(r, value, key, &text);
    }
    return r->rc < 0 ? NULL : text;
}

const char *fields_label(struct fields_reader *r, const char *key)
{
    const char *text = fields_entry(r, &r->labels, key);
    return text ? text : "";
}

struct slice fields_entry_if_any(const struct fields_map *map, const char *key)
{
    const json_t *json = json_object_get(map->json, key);
    struct slice value = slice_of("", 0);
    if (json_is_string(json)) {
        return slice_of(json_string_value(json), json_string_length(json));
    }
    return find_entry(map, key, &value) ? value : slice_of("", 0);
}

static int take_map_entry(struct fields_reader *r, struct slice entry, struct kube_setting *setting)
{
    struct slice key, value;
    if (!read_map_entry(entry, &key, &value)) {
        return not_a_message(r);
    }
    int rc = take_text(r, key, "key", &setting->key);
    return rc < 0 ? rc : take_text(r, value, setting->key, &setting->value);
}

const struct kube_setting *fields_entries(struct fields_reader *r, const struct fields *at,
                                          const char *key, uint32_t number, size_t *ret_count)
{
    const bool is_json = r->encoding == KUBE_JSON;
    const struct fields map = {.key = key};
    json_t *json = NULL;
    if (is_json) {
        fields_check(r, at, r->rc < 0 ? r->rc : fields_get_object(at->json, key, &json, r->err));
    }
    struct items items = {.count = json_object_size(json)};
    if (!is_json) {
        items = fields_open_items(r, at, key, number);
    }
    struct kube_setting *settings = fields_room(r, &map, items.count, sizeof(*settings));
    void *next = json_object_iter(json);
    for (size_t i = 0; settings && r->rc == 0 && i < items.count; i++) {
        int rc = 0;
        if (is_json) {
            settings[i].key = json_object_iter_key(next);
            rc = fields_get_string(json, settings[i].key, &settings[i].value, r->err);
            next = json_object_iter_next(json, next);
        } else {
            rc = take_map_entry(r, next_bytes(&items), &settings[i]);
        }
        fields_check(r, &map, rc);
    }
    *ret_count = items.count;
    return settings;
}

/* ---- Conditions ---- */

bool fields_is_accepted(const struct fields_reader *r, const struct fields *parent)
{
    const json_t *conditions = json_object_get(parent->json, "conditions");
    json_int_t generation = json_integer_value(json_object_get(r->metadata.json, "generation"));
    bool is = false;
    for (size_t i = 0; i < json_array_size(conditions) && !is; i++) {
        const json_t *condition = json_array_get(conditions, i);
        const char *type = json_string_value(json_object_get(condition, "type"));
        const char *status = json_string_value(json_object_get(condition, "status"));
        is = type && status && strcmp(type, "Accepted") == 0 && strcmp(status, "True") == 0 &&
             json_integer_value(json_object_get(condition, "observedGeneration")) == generation;
    }
    return is;
}
