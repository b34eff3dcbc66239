#include "kube2sky/api/fields_json_internal.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "kube2sky/api/kube_object.h"

json_t *fields_parse(struct slice text, struct err *err)
{
    static bool has_allocator;
    if (!has_allocator) {
        json_set_alloc_funcs(xmalloc, free);
        has_allocator = true;
    }
    json_error_t error;
    json_t *json = json_loadb(text.ptr ? text.ptr : "", text.len, JSON_ALLOW_NUL, &error);
    if (!json) {
        err_set(err, ERR_SYNTAX, "not JSON: %s at byte %d", error.text, error.position);
    }
    return json;
}

const char *fields_type_name(const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    case JSON_NULL:
        return "null";
    }
    return "something else";
}

/* Gets a member of the given type; *ret_value is NULL when absent. */
static int get_member(const json_t *object, const char *key, json_type type, const char *expected,
                      json_t **ret_value, struct err *err)
{
    json_t *value = json_object_get(object, key);
    if (json_is_null(value)) {
        value = NULL;
    }
    if (value && json_typeof(value) != type) {
        return err_set(err, ERR_SYNTAX, "%s: expected %s, found %s", key, expected,
                       fields_type_name(value));
    }
    *ret_value = value;
    return 0;
}

int fields_get_object(const json_t *object, const char *key, json_t **ret_value, struct err *err)
{
    return get_member(object, key, JSON_OBJECT, "an object", ret_value, err);
}

int fields_get_array(const json_t *object, const char *key, json_t **ret_value, struct err *err)
{
    return get_member(object, key, JSON_ARRAY, "an array", ret_value, err);
}

static int fields_json_take_string(const json_t *string, const char *key, const char **ret_text,
                                   struct err *err)
{
    const char *text = json_string_value(string);
    size_t len = json_string_length(string);
    if (memchr(text, '\0', len)) {
        return err_set(err, ERR_SYNTAX, "%s: contains a NUL", key);
    }
    *ret_text = text;
    return 0;
}

int fields_get_string(const json_t *object, const char *key, const char **ret_text, struct err *err)
{
    json_t *value = NULL;
    int rc = get_member(object, key, JSON_STRING, "a string", &value, err);
    if (rc == 0 && value) {
        rc = fields_json_take_string(value, key, ret_text, err);
    } else if (rc == 0) {
        *ret_text = "";
    }
    return rc;
}

int fields_get_bool(const json_t *object, const char *key, bool *ret_value, struct err *err)
{
    json_t *value = json_object_get(object, key);
    if (value && !json_is_null(value) && !json_is_boolean(value)) {
        return err_set(err, ERR_SYNTAX, "%s: expected a boolean, found %s", key,
                       fields_type_name(value));
    }
    if (json_is_boolean(value)) {
        *ret_value = json_is_true(value);
    }
    return 0;
}

int fields_check_port(const char *key, long long port, int32_t *ret_port, struct err *err)
{
    if (port < 0 || port > 65535) {
        return err_set(err, ERR_SYNTAX, "%s: expected a number from 0 to 65535, found %lld", key,
                       port);
    }
    *ret_port = (int32_t)port;
    return 0;
}

int fields_get_port(const json_t *object, const char *key, int32_t *ret_port, struct err *err)
{
    json_t *value = NULL;
    int rc = get_member(object, key, JSON_INTEGER, "a number from 0 to 65535", &value, err);
    return rc < 0 ? rc : fields_check_port(key, json_integer_value(value), ret_port, err);
}

int fields_get_element_object(const json_t *array, const char *key, size_t i, json_t **ret_object,
                              struct err *err)
{
    json_t *element = json_array_get(array, i);
    if (!json_is_object(element)) {
        return err_set(err, ERR_SYNTAX, "%s[%zu]: expected an object, found %s", key, i,
                       fields_type_name(element));
    }
    *ret_object = element;
    return 0;
}

int fields_get_element_string(const json_t *array, const char *key, size_t i, const char **ret_text,
                              struct err *err)
{
    const json_t *element = json_array_get(array, i);
    if (!json_is_string(element)) {
        return err_set(err, ERR_SYNTAX, "%s[%zu]: expected a string, found %s", key, i,
                       fields_type_name(element));
    }
    return fields_json_take_string(element, key, ret_text, err);
}

/* ---- An annotation's fields ---- */

/* Returns the host name in an address's fields; NULL: none. Field names are case-insensitive, as in
 * kube2sky 1.14, which defined the annotation. An invalid label counts as no name, as there:
 * nothing else validates this annotation. */
static json_t *find_host_name(json_t *fields)
{
    const char *key;
    json_t *value;
    json_object_foreach(fields, key, value)
    {
        const char *name = json_string_value(value);
        if (name && strcasecmp(key, "HostName") == 0 &&
            dname_is_host_label(slice_of(name, json_string_length(value)))) {
            return value;
        }
    }
    return NULL;
}

/* Replaces each address's fields by its name. An object may have an address a thousand times, and
 * its author chooses the number of fields: so they are searched once. */
static void shorten_to_names(json_t *map)
{
    for (void *at = json_object_iter(map); at; at = json_object_iter_next(map, at)) {
        json_t *name = find_host_name(json_object_iter_value(at));
        json_object_iter_set_new(map, at, name ? json_incref(name) : json_null());
    }
}

int kube_hostnames_parse(struct slice text, struct kube_hostnames *ret_hostnames, struct err *err)
{
    json_t *map = NULL;
    if (text.len > 0) {
        map = fields_parse(text, err);
        if (!map) {
            return err_wrap(err, ERR_SYNTAX, "annotation %s", KUBE_HOSTNAMES_ANNOTATION);
        }
    }
    if (map && !json_is_object(map)) {
        int rc = err_set(err, ERR_SYNTAX, "annotation %s: expected an object, found %s",
                         KUBE_HOSTNAMES_ANNOTATION, fields_type_name(map));
        json_decref(map);
        return rc;
    }
    shorten_to_names(map);
    ret_hostnames->map = map;
    return 0;
}

void kube_hostnames_fini(struct kube_hostnames *hostnames)
{
    json_decref(hostnames->map);
    hostnames->map = NULL;
}

const char *kube_hostnames_of(const struct kube_hostnames *hostnames, const char *ip,
                              const char *hostname)
{
    const char *name = *hostname ? NULL : json_string_value(json_object_get(hostnames->map, ip));
    return name ? name : hostname;
}
