/* Limits how many keys, and how many bytes of them, one namespace may have in etcd. Without a
 * limit, a user who may write Services in one namespace fills etcd. The memory of kube2sky, which
 * knows each key, and of every skydns, which holds each record, grows with it: 7 Services of 1,000
 * endpoints with 98 ports are 686,000 keys of 251 KiB of JSON each.
 *
 * An owner takes the room of the keys that it has in etcd, or will have once its planned
 * transactions have landed, if that is more. New keys that do not fit wait; changes of existing
 * keys, unless they make a value much longer, and deletes do not. So existing keys stay, also after
 * a restart, which reads them from etcd. When there is room again, waiting owners are planned one
 * by one, in the order of their names.
 *
 * Reverse names come on top: at most one for each address. Plain data, no I/O; single-threaded. */
#ifndef KUBE2SKY_RECONCILE_KEY_ROOM_INTERNAL_H
#define KUBE2SKY_RECONCILE_KEY_ROOM_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"

struct owner;
struct plan;

/* One namespace may take etcd's space divided by this. History has the same share
 * (history_internal.h), so one namespace never fills more than a fifth of the quota, reverse names
 * apart. Of the manifest's 512 MiB it is 51 MiB, about 200,000 ordinary keys: 20 MiB of kube2sky's
 * memory and 50 MiB of skydns's. */
enum { KEY_ROOM_SHARE_DIVISOR = 10 };

/* One owner may have that share divided by this. Its keys and values are in memory several times
 * while they are planned and sent, four such owners at once (TRANSACTIONS_LARGE_MAX). */
enum { KEY_ROOM_OWNER_DIVISOR = 3 };

/* Bytes of a key beside its value and the part from its owner's id on: the tree's prefix, and the
 * overhead of etcd and the programs. */
enum { KEY_ROOM_OVERHEAD_BYTES = 96 };

/* A change that makes a value so much longer needs room as a new key does. */
enum { KEY_ROOM_GROWTH_MIN = 1024 };

/* Limits how many waiting keys of an owner are shown: all would take its memory once more. */
enum { KEY_ROOM_SHOWN_MAX = 1000 };

struct key_amount {
    uint64_t keys;
    uint64_t bytes;
};

/* Limits of a namespace; UINT64_MAX: no limit. All zero means no limits, either. */
struct key_limits {
    struct key_amount ns;
    uint32_t owner_keys; /* for naming_config */
    uint32_t owner_bytes;
};

/* Returns the limits. etcd_space_bytes 0: no limit on bytes; ns_keys_max 0: no limit on a
 * namespace's keys. */
struct key_limits key_limits_of(uint64_t etcd_space_bytes, uint64_t owner_keys_max,
                                uint64_t ns_keys_max);

/* Room of one group of owners. */
struct key_room {
    struct key_amount taken;
    struct owner **waiting; /* owners held for want of room: a heap by id */
    size_t waiting_count;
    size_t waiting_cap;
    struct owner *offered; /* waited, and is queued now, one at a time; NULL: none */
    size_t lacking_count;  /* owners that lacked room when last planned */
};

void key_room_fini(struct key_room *room);

/* key_room_taken_by returns the room that the owner takes; pass it to key_room_changed after a
 * change. That returns true if there is more room now. */
struct key_amount key_room_taken_by(const struct owner *owner);
bool key_room_changed(struct key_room *room, const struct owner *owner,
                      const struct key_amount *before);

/* Returns the bytes of the owner's own keys and values, keys in full, as naming's limit counts
 * them. base: see owners_base. */
uint64_t key_room_text_bytes(const struct owner *owner, struct slice base);

/* Takes puts of the owner's new keys that do not fit out of its plan, and new reverse keys with
 * them. The first KEY_ROOM_SHOWN_MAX go to `left`. Sets the keys that etcd has after the plan.
 * Returns true if some did not fit. base: see owners_base. */
bool key_room_fit(const struct owner *owner, const struct key_amount *limit, struct slice base,
                  struct plan *plan, struct plan *left, struct key_amount *ret_after);

/* ---- Those that wait: by id, the smallest first ---- */

void key_room_add_waiting(struct key_room *room, struct owner *owner);
void key_room_remove_waiting(struct key_room *room,
                             struct owner *owner); /* does nothing unless it waits */

#endif
