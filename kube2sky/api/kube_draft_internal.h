/* Holds an object during decoding, from any encoding: strings are borrowed from the input, arrays
 * are in an arena. kube_draft_pack makes the compact object. Sits between the object decoders
 * (kube_codec_internal.h) and kube_object.h. Main thread.
 *
 *     kube_draft_init(&draft);
 *     for each object: kube_draft_begin(&draft, kind); fill in draft.object; kube_draft_pack(...)
 *     kube_draft_fini(&draft); */
#ifndef KUBE2SKY_API_KUBE_DRAFT_INTERNAL_H
#define KUBE2SKY_API_KUBE_DRAFT_INTERNAL_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "kube2sky/api/kube_object.h"

enum kube_object_part { KUBE_WHOLE, KUBE_METADATA_ONLY };

struct kube_draft {
    struct kube_object object; /* faults: see below */
    struct arena arena;
    struct buf faults;
};

void kube_draft_init(struct kube_draft *draft);
void kube_draft_fini(struct kube_draft *draft);

/* Starts an empty object of this kind, every string ""; releases the arena. */
void kube_draft_begin(struct kube_draft *draft, enum kube_kind kind);

/* Returns which optional members to decode, as kube_object_keep has set them. */
const struct kube_kept *kube_draft_kept(void);

/* Returns count zeroed elements of that size, borrowed until the next begin; not NULL for count 0.
 * Fails with NULL and ERR_TOO_LARGE if the object exceeds the limit. */
void *kube_draft_array(struct kube_draft *draft, size_t count, size_t size,
                       struct err *err) MUST_CHECK;

/* Copies the slice, NUL-terminated; borrowed until the next begin. Fails with ERR_TOO_LARGE, or
 * with ERR_SYNTAX if it contains a NUL. */
int kube_draft_text(struct kube_draft *draft, struct slice text, const char **ret_text,
                    struct err *err) MUST_CHECK;

/* Leaves out a part that could not be decoded: notes it among the object's faults and returns 0.
 * Fails with ERR_TOO_LARGE if the object exceeds the limit. Returns 0 for rc 0. */
int kube_draft_leave_out(struct kube_draft *draft, int rc, const struct err *err) MUST_CHECK;

/* Checks that the object's name, and its namespace unless its kind has none, are known. Fails with
 * ERR_SYNTAX. */
int kube_draft_check_name(const struct kube_object *object, struct err *err) MUST_CHECK;

/* Marks the object as garbled, for this reason: empties its content, except a slice's Service. */
void kube_draft_garble(struct kube_draft *draft, const struct err *err);

/* Copies the draft into one block, owned by the caller; for KUBE_METADATA_ONLY just namespace, name
 * and version. */
struct kube_object *kube_draft_pack(struct kube_draft *draft, enum kube_object_part part);

#endif
