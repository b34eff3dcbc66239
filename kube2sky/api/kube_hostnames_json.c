#include "kube2sky/api/kube_hostnames_json_internal.h"

#include <jansson.h>
#include <strings.h>

#include "common/dns/dname.h"

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
