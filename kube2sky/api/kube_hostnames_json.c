#include "kube2sky/api/kube_hostnames_json_internal.h"

#include <jansson.h>
#include <strings.h>

#include "common/dns/dname.h"

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
    ret_hostnames->map = map;
    return 0;
}

void kube_hostnames_fini(struct kube_hostnames *hostnames)
{
    json_decref(hostnames->map);
    hostnames->map = NULL;
}

/* Field names are case-insensitive, as in the program that defined it. An invalid label counts as
 * no name, as there: nothing else validates what people put here.
 */
const char *kube_hostnames_of(const struct kube_hostnames *hostnames, const char *ip,
                              const char *hostname)
{
    json_t *entry = *hostname ? NULL : json_object_get(hostnames->map, ip);
    const char *key;
    json_t *value;
    json_object_foreach(entry, key, value)
    {
        const char *name = json_string_value(value);
        if (name && strcasecmp(key, "HostName") == 0 &&
            dname_is_host_label(slice_of(name, json_string_length(value)))) {
            return name;
        }
    }
    return hostname;
}
