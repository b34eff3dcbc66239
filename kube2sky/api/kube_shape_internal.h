/* Describes the members of each kind's objects once, for all that goes through them: empties,
 * compares and packs objects. A new member is a row of its struct in kube_shape.c. Pure; main
 * thread. */
#ifndef KUBE2SKY_API_KUBE_SHAPE_INTERNAL_H
#define KUBE2SKY_API_KUBE_SHAPE_INTERNAL_H

#include "kube2sky/api/kube_object.h"

/* Empties what its kind has: texts are "", arrays have no items. */
void kube_shape_clear(struct kube_object *object);

/* Returns whether what the kind of both has is equal. */
bool kube_shape_equal(const struct kube_object *a, const struct kube_object *b);

/* Copies the object into one block, owned by the caller. */
struct kube_object *kube_shape_pack(const struct kube_object *object);

#endif
