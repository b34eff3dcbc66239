/* Decodes one object of the Kubernetes API, in either encoding, into struct kube_object; and the
 * metadata of lists and bookmarks. Called by kube_decode.c and the codecs. Main thread. */
#ifndef KUBE2SKY_API_KUBE_OBJECT_DECODE_INTERNAL_H
#define KUBE2SKY_API_KUBE_OBJECT_DECODE_INTERNAL_H

#include "kube2sky/api/kube_draft_internal.h"

/* Decodes the text: the object's own, without an envelope. *ret_object (owned by the caller) is set
 * on failure too, garbled, with namespace, name and version as far as known, else "". draft is
 * scratch memory. */
int kube_object_decode(enum kube_encoding encoding, enum kube_kind kind, struct slice text,
                       enum kube_object_part part, struct kube_draft *draft,
                       struct kube_object **ret_object, struct err *err) MUST_CHECK;

/* Decodes a list's metadata into a version and a token, owned. */
int kube_list_meta_decode(enum kube_encoding encoding, struct slice text,
                          struct kube_list_meta *meta, struct err *err) MUST_CHECK;

/* Decodes a bookmark's object: its resourceVersion, which must not be empty, and whether it ends
 * the initial events. */
int kube_bookmark_decode(enum kube_encoding encoding, struct slice text, struct kube_event *event,
                         struct err *err) MUST_CHECK;

#endif
