/* Formats plans as readable lines, for GET /plan and --dry-run. Pure.
 *
 *     + KEY VALUE     does not exist
 *     ~ KEY VALUE     has another value
 *     - KEY           should not exist
 *     ? KEY [VALUE]   waits: the key exists and may turn out to be right, so it is deleted, or gets
 *                     this value, only once everything that may want it is known; or it waits for
 *                     another key
 *     = KEY VALUE     should have this value, but belongs to another writer: left alone
 *
 * Bytes that are not printable ASCII become \xNN: anyone may have written a key to delete. */
#ifndef KUBE2SKY_RECONCILE_PREVIEW_H
#define KUBE2SKY_RECONCILE_PREVIEW_H

#include "common/base/buf.h"
#include "kube2sky/reconcile/plan.h"

/* Appends a line for each operation. */
void preview_append(const struct plan *plan, struct buf *out);

/* Appends a line for each operation that is withheld. */
void preview_append_withheld(const struct plan *withheld, struct buf *out);

/* Appends a line for each put that is left out, since the key belongs to another writer. */
void preview_append_left(const struct plan *left, struct buf *out);

#endif
