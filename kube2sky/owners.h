/* The owners of keys, the unit the reconciler works in: "<namespace>/<name>" for each Service, and
 * for whatever else lies under our prefix its first two path segments, so that foreign keys belong
 * to somebody and can be removed. A table of them and the queue of those to be planned. Plain data,
 * no I/O; single-threaded.
 *
 *     settled -> queued -> in flight -> settled | queued again
 *                       -> held (its deletions must wait) -> queued
 *                       -> settled, when there is nothing to do */
#ifndef KUBE2SKY_OWNERS_H
#define KUBE2SKY_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/slice.h"
#include "kube2sky/actual.h"

enum owner_state { OWNER_SETTLED, OWNER_QUEUED, OWNER_HELD, OWNER_IN_FLIGHT };

struct owner {
    struct slice id;
    struct actual_keys actual;
    size_t desired_count; /* when last planned */
    enum owner_state state;
    bool is_suspect; /* was in a transaction that etcd refused: goes alone until one is taken */
    bool is_refusal_told; /* and the log says that it was refused alone, too */

    /* In flight only: is another look needed when it has landed? */
    bool has_changed;    /* its objects did */
    int64_t first_event; /* the revisions of the changes seen under it, 0 = none; those of its */
    int64_t last_event;  /* own transaction all have one */
    struct owner *queue_next; /* the queue's */
};

struct owners;

/* `prefix` is that of all our keys, "/skydns/local/cluster/svc/"; copied. */
struct owners *owners_new(struct slice prefix);
void owners_free(struct owners *owners); /* NULL is fine */

struct owner *owners_find(const struct owners *owners, struct slice id); /* NULL: unknown */
struct owner *owners_get(struct owners *owners, struct slice id);        /* made when unknown */

/* The owner's part of its keys, "/skydns/local/cluster/svc/default/web"; replaces what out had. */
void owners_base(const struct owners *owners, const struct owner *owner, struct buf *out);

/* ---- What the mirror tells; every key is below the prefix ---- */

/* The key's owner when that changed something, else NULL. */
struct owner *owners_key_put(struct owners *owners, struct slice key, struct slice value,
                             uint32_t generation);
struct owner *owners_key_delete(struct owners *owners, struct slice key);
bool owners_has_key(const struct owners *owners, struct slice key);

/* After a full read: forgets the owner's keys of other generations. True when there were some. */
bool owners_sweep(struct owners *owners, struct owner *owner, uint32_t generation);

size_t owners_key_count(const struct owners *owners); /* of all owners */

/* ---- The table ---- */

/* Frees a settled owner that has no keys and wants none; others stay. */
void owners_forget_if_empty(struct owners *owners, struct owner *owner);

void owners_each(struct owners *owners, void (*fn)(void *data, struct owner *owner), void *data);

/* ---- The queue, first in, first out ---- */

/* To the end; the owner is not queued yet and not in flight. */
void owners_enqueue(struct owners *owners, struct owner *owner);
struct owner *owners_first(const struct owners *owners); /* NULL: empty */

/* Takes the first one out of the queue into another state. */
void owners_dequeue(struct owners *owners, enum owner_state state);

void owners_hold_release(struct owners *owners); /* every held one is queued */
size_t owners_queued(const struct owners *owners);
size_t owners_held(const struct owners *owners);

#endif
