/* Decodes one object of the Kubernetes API's protobuf into struct kube_object. Part of
 * kube_codec_proto. */
#ifndef KUBE2SKY_API_KUBE_OBJECT_PROTO_INTERNAL_H
#define KUBE2SKY_API_KUBE_OBJECT_PROTO_INTERNAL_H

#include "kube2sky/api/kube_draft_internal.h"

/* Decodes the message, the object's own, without an envelope. *ret_object (owned by the caller) is
 * set on failure too, with namespace, name and version as far as known, else "". draft is scratch
 * memory. */
int kube_object_from_proto(enum kube_kind kind, struct slice message, enum kube_object_part part,
                           struct kube_draft *draft, struct kube_object **ret_object,
                           struct err *err) MUST_CHECK;

#endif
