/* Plans as lines for people, as GET /plan and --dry-run show them. Pure.
 *
 *     + KEY VALUE     is not there
 *     ~ KEY VALUE     is there and says something else
 *     - KEY           is there and should not be
 *     = KEY VALUE     is there and should say that, but is somebody else's: it stays
 *
 * What is no printable ASCII is \xNN: anybody may have written a key that is to go. */
#ifndef KUBE2SKY_RECONCILE_PREVIEW_H
#define KUBE2SKY_RECONCILE_PREVIEW_H

#include "common/base/buf.h"
#include "kube2sky/reconcile/plan.h"

/* Appends a line for each operation. */
void preview_append(const struct plan *plan, struct buf *out);

/* For keys that are left to others: puts that will not be made. */
void preview_append_left(const struct plan *left, struct buf *out);

#endif
