/* Decodes what objects of each kind hold beside their names, in either encoding: the annotations
 * and labels that count, spec and status. A part that cannot be understood is left out alone
 * (kube_object.h). Called by kube_object_decode.c. Main thread. */
#ifndef KUBE2SKY_API_KUBE_CONTENT_DECODE_INTERNAL_H
#define KUBE2SKY_API_KUBE_CONTENT_DECODE_INTERNAL_H

#include "kube2sky/api/fields_internal.h"

/* Fills in the draft, whose kind and metadata are known. */
void kube_content_decode(struct fields_reader *r, const struct fields *object);

#endif
