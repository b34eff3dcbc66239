/* Reads the value of a client's key (record_keys_internal.h). Bytes from outside; pure. */
#ifndef SKYDNS_SYNC_RECORD_VALUE_INTERNAL_H
#define SKYDNS_SYNC_RECORD_VALUE_INTERNAL_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "skydns/clients/client_record.h"

/* Limits a value: four names at their longest take less. */
enum { RECORD_VALUE_MAX = 1024 };

struct json_t;

struct record_value {
    struct client_description description; /* borrowed from the value, or from `json` */
    struct json_t *json;                   /* NULL: the value is as kube2sky writes it */
};

/* Returns NULL, or why the value is unusable. The caller calls record_value_fini in any case. */
const char *record_value_read(struct record_value *ret, struct slice value) MUST_CHECK;
void record_value_fini(struct record_value *value);

/* Returns why the description is unusable; NULL: it is not. Names have the characters of
 * Kubernetes' names and label values alone, so they may be shown anywhere. */
const char *record_value_refusal(const struct client_description *description);

/* Return whether a text has only these characters, or is a namespace's or a Service's name. */
bool record_value_is_name(struct slice text);
bool record_value_is_namespace(struct slice text);

#endif
