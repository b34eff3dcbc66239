/* Decodes one object of the Kubernetes API, in either encoding, into struct kube_object. Called by
 * kube_decode.c. Main thread. */
#ifndef KUBE2SKY_API_KUBE_OBJECT_DECODE_INTERNAL_H
#define KUBE2SKY_API_KUBE_OBJECT_DECODE_INTERNAL_H

#include "kube2sky/api/kube_draft_internal.h"

/* Decodes the text: the object's own, without an envelope. *ret_object (owned by the caller) is set
 * on failure too, garbled, with namespace, name and version as far as known, else "". draft is
 * scratch memory. */
int kube_object_decode(enum kube_encoding encoding, enum kube_kind kind, struct slice text,
                       enum kube_object_part part, struct kube_draft *draft,
                       struct kube_object **ret_object, struct err *err) MUST_CHECK;

#endif
