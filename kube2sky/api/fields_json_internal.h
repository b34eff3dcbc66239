/* Reads typed members of a JSON object, with errors that a person can act on. One is `port:
 * expected a number from 0 to 65535, found a string`. For the files that decode the Kubernetes
 * API's JSON; jansson's own header stays in those. Null counts as absent, as in the API's own
 * decoder. Each getter returns 0, or a negative code (ERR_SYNTAX unless noted) and no value. Main
 * thread only. */
#ifndef KUBE2SKY_API_FIELDS_JSON_INTERNAL_H
#define KUBE2SKY_API_FIELDS_JSON_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"

typedef struct json_t json_t;

/* Parses a text. The caller owns the result (json_decref). NULL: it is not JSON. */
json_t *fields_parse(struct slice text, struct err *err) MUST_CHECK;

/* Gets an object, borrowed from its parent; NULL when absent. */
int fields_get_object(const json_t *object, const char *key, json_t **ret_value,
                      struct err *err) MUST_CHECK;
int fields_get_array(const json_t *object, const char *key, json_t **ret_value,
                     struct err *err) MUST_CHECK;

/* Gets a string, borrowed from its parent; "" when absent. A string with a NUL is rejected rather
 * than truncated. */
int fields_get_string(const json_t *object, const char *key, const char **ret_text,
                      struct err *err) MUST_CHECK;

/* Gets a boolean; *ret_value is unchanged when absent. */
int fields_get_bool(const json_t *object, const char *key, bool *ret_value,
                    struct err *err) MUST_CHECK;

/* Gets a port number; 0 when absent. */
int fields_get_port(const json_t *object, const char *key, int32_t *ret_port,
                    struct err *err) MUST_CHECK;

/* Takes a port number of any encoding likewise. */
int fields_check_port(const char *key, long long port, int32_t *ret_port,
                      struct err *err) MUST_CHECK;

/* Gets the i-th element, an object, of the array called key. */
int fields_get_element_object(const json_t *array, const char *key, size_t i, json_t **ret_object,
                              struct err *err) MUST_CHECK;
int fields_get_element_string(const json_t *array, const char *key, size_t i, const char **ret_text,
                              struct err *err) MUST_CHECK;

/* Returns "a string", "an object", ... */
const char *fields_type_name(const json_t *json);

/* ---- An annotation's fields ---- */

/* The annotation that gave pods host names before Endpoints addresses had a field for it (kube2sky
 * 1.14): {"10.0.0.1":{"HostName":"web-0"}}. Its value is JSON in every encoding of the object. */
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
