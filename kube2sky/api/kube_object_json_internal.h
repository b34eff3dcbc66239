/* Decodes one object of the Kubernetes API's JSON into struct kube_object. Part of
 * kube_codec_json. */
#ifndef KUBE2SKY_API_KUBE_OBJECT_JSON_INTERNAL_H
#define KUBE2SKY_API_KUBE_OBJECT_JSON_INTERNAL_H

#include "kube2sky/api/kube_draft_internal.h"

/* Decodes the text. *ret_object (owned by the caller) is set on failure too, with namespace, name
 * and version as far as known, else "". draft is scratch memory. */
int kube_object_from_json(enum kube_kind kind, struct slice text, enum kube_object_part part,
                          struct kube_draft *draft, struct kube_object **ret_object,
                          struct err *err) MUST_CHECK;

#endif
