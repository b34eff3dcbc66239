/* How many keys, and how many bytes of them, one namespace may have in etcd. Without a limit,
 * whoever may write Services in one namespace fills etcd, and the memory of kube2sky, which knows
 * each key, and of every skydns, which holds each record: 7 Services of 1,000 endpoints with 98
 * ports are 686,000 keys of 251 KiB of JSON each.
 *
 * An owner takes what it has in etcd, or what the transactions planned for it will leave there if
 * that is more. New keys that do not fit wait; changes of keys that are there and deletes do not.
 * So who has keys keeps them, also after a restart, which reads them from etcd. When room is made,
 * the first by name of those that wait is looked at, then the next one.
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

/* Of etcd's space: what one namespace may take of it. The same share as of history
 * (history_internal.h), so that one namespace never fills more than a fifth of the quota, reverse
 * names apart. Of the manifest's 512 MiB it is 51 MiB, about 200,000 ordinary keys: 20 MiB of
 * kube2sky's memory and 50 MiB of skydns's. */
enum { KEY_ROOM_SHARE_DIVISOR = 10 };

/* Of that share: what one owner may have. Its keys and values are in memory several times while
 * they are planned and sent, four such owners at once (TRANSACTIONS_LARGE_MAX). */
enum { KEY_ROOM_OWNER_DIVISOR = 3 };

/* Of a key, beside the part from its owner's id on and its value: the tree's prefix, and what etcd
 * and the programs need for each. */
enum { KEY_ROOM_OVERHEAD_BYTES = 96 };

/* How many of an owner's keys that wait are shown: all would be its memory once more. */
enum { KEY_ROOM_SHOWN_MAX = 1000 };

struct key_amount {
    uint64_t keys;
    uint64_t bytes;
};

/* UINT64_MAX: no limit. A namespace's; all zero: no limits, either. */
struct key_limits {
    struct key_amount ns;
    uint32_t owner_keys; /* of naming_config */
    uint32_t owner_bytes;
};

/* etcd_space_bytes 0: no limit on bytes; ns_keys_max 0: none on a namespace's keys. */
struct key_limits key_limits_of(uint64_t etcd_space_bytes, uint64_t owner_keys_max,
                                uint64_t ns_keys_max);

/* Part of a group of owners. */
struct key_room {
    struct key_amount taken;
    struct owner **waiting; /* held for want of room: a heap by id */
    size_t waiting_count;
    size_t waiting_cap;
    struct owner *offered; /* was waiting, and is queued now: one at a time; NULL: none */
    size_t lacking_count;  /* owners that lacked room when last planned */
};

void key_room_fini(struct key_room *room);

/* What the owner takes; and to be called with that when it was changed: true if there is more room
 * now. */
struct key_amount key_room_taken_by(const struct owner *owner);
bool key_room_changed(struct key_room *room, const struct owner *owner,
                      const struct key_amount *before);

/* The whole keys and the values of that alone, as naming's limit counts them. base: as of
 * owners_base. */
uint64_t key_room_text_bytes(const struct owner *owner, struct slice base);

/* Takes the puts of the owner's new keys that do not fit out of its plan, and new reverse keys with
 * them; adds the first ones to the other plan. Sets what it has in etcd after the plan. True if
 * some did not fit. base: as of owners_base. */
bool key_room_fit(const struct owner *owner, const struct key_amount *limit, struct slice base,
                  struct plan *plan, struct plan *left, struct key_amount *ret_after);

/* ---- Those that wait: by id, the smallest first ---- */

void key_room_add_waiting(struct key_room *room, struct owner *owner);
void key_room_remove_waiting(struct key_room *room, struct owner *owner); /* if it waits */

#endif
