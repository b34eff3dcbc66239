/* Reads the annotation that gave pods host names before Endpoints addresses had a field for it
 * (kube2sky 1.14): {"10.0.0.1":{"HostName":"web-0"}}. Its value is JSON in every encoding of the
 * object. For the decoders of objects. Main thread. */
#ifndef KUBE2SKY_API_KUBE_HOSTNAMES_JSON_INTERNAL_H
#define KUBE2SKY_API_KUBE_HOSTNAMES_JSON_INTERNAL_H

#include "kube2sky/api/fields_json_internal.h"
#include "kube2sky/api/kube_draft_internal.h"

#define KUBE_HOSTNAMES_ANNOTATION "endpoints.beta.kubernetes.io/hostnames-map"

struct kube_hostnames {
    json_t *map; /* address -> name, or null; owned; NULL = none */
};

/* Reads each field of the map once. An empty text is an empty map. */
int kube_hostnames_parse(struct slice text, struct kube_hostnames *ret_hostnames,
                         struct err *err) MUST_CHECK;
void kube_hostnames_fini(struct kube_hostnames *hostnames);

/* Returns the name of an address: *hostname unless "", else the map's (borrowed), else "". It costs
 * one hash lookup, whatever the map holds. */
const char *kube_hostnames_of(const struct kube_hostnames *hostnames, const char *ip,
                              const char *hostname);

#endif
