/* One object of the Kubernetes API's JSON -> struct kube_object. Between kube_list_json.c, which
 * cuts lists and watch events into objects, and this; nobody else calls it. */
#ifndef KUBE2SKY_KUBE_OBJECT_JSON_H
#define KUBE2SKY_KUBE_OBJECT_JSON_H

#include "kube2sky/kube_object.h"

enum kube_object_part { KUBE_WHOLE, KUBE_METADATA_ONLY };

/* object: zeroed but for its kind. Afterwards it holds what was understood, on failure too: enough
 * to say which one it was. kube_object_free in either case. */
int kube_object_from_json(struct slice text, enum kube_object_part part, struct kube_object *object,
                          struct err *err) MUST_CHECK;

#endif
