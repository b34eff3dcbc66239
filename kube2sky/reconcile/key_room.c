#include "kube2sky/reconcile/key_room_internal.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "kube2sky/naming/desired.h"
#include "kube2sky/reconcile/owner_groups_internal.h"
#include "kube2sky/reconcile/owners_internal.h"
#include "kube2sky/reconcile/plan.h"

struct key_limits key_limits_of(uint64_t etcd_space_bytes, uint64_t owner_keys_max,
                                uint64_t ns_keys_max)
{
    uint64_t ns_bytes = etcd_space_bytes ? etcd_space_bytes / KEY_ROOM_SHARE_DIVISOR : UINT64_MAX;
    uint64_t owner_bytes = ns_bytes / KEY_ROOM_OWNER_DIVISOR;
    return (struct key_limits){
        .ns = {.keys = ns_keys_max ? ns_keys_max : UINT64_MAX, .bytes = ns_bytes},
        .owner_keys = owner_keys_max ? (uint32_t)owner_keys_max : DESIRED_MAX,
        .owner_bytes = owner_bytes < DESIRED_BYTES_MAX ? (uint32_t)owner_bytes : DESIRED_BYTES_MAX,
    };
}

void key_room_fini(struct key_room *room)
{
    free(room->waiting);
}

/* ---- Room in use ---- */

static uint64_t fixed_bytes(const struct owner *owner)
{
    return owner->id.len + KEY_ROOM_OVERHEAD_BYTES;
}

static struct key_amount amount_in_etcd(const struct owner *owner)
{
    const struct actual_keys *actual = &owner->actual;
    return (struct key_amount){.keys = actual->count,
                               .bytes = actual->bytes + actual->count * fixed_bytes(owner)};
}

static uint64_t key_room_larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

struct key_amount key_room_taken_by(const struct owner *owner)
{
    struct key_amount there = amount_in_etcd(owner);
    return (struct key_amount){.keys = key_room_larger(there.keys, owner->planned_keys),
                               .bytes = key_room_larger(there.bytes, owner->planned_bytes)};
}

uint64_t key_room_text_bytes(const struct owner *owner, struct slice base)
{
    struct key_amount taken = key_room_taken_by(owner);
    return taken.bytes - taken.keys * fixed_bytes(owner) + taken.keys * base.len;
}

bool key_room_changed(struct key_room *room, const struct owner *owner,
                      const struct key_amount *before)
{
    struct key_amount now = key_room_taken_by(owner);
    room->taken.keys += now.keys - before->keys;
    room->taken.bytes += now.bytes - before->bytes;
    return now.keys < before->keys || now.bytes < before->bytes;
}

/* ---- Whether a plan fits ---- */

static const struct actual_key *key_room_find(const struct owner *owner, struct slice base,
                                              struct slice key)
{
    return slice_has_prefix(key, base) ? actual_find(&owner->actual, slice_skip(key, base.len))
                                       : NULL;
}

/* Returns by how much a change makes a key's value longer, if that counts as a new key's bytes do.
 * Records have values of about one length; the zones of addresses have not. */
static uint64_t growth_of(const struct owner *owner, struct slice base, const struct etcd_op *op)
{
    const struct actual_key *there =
        op->kind == ETCD_OP_PUT ? key_room_find(owner, base, op->key) : NULL;
    const size_t length = there ? there->value.length : 0;
    return there && op->value.len >= length + KEY_ROOM_GROWTH_MIN ? op->value.len - length : 0;
}

static void subtract_deletes(const struct owner *owner, struct slice base, const struct plan *plan,
                             struct key_amount *after)
{
    for (size_t i = plan->put_count; i < plan->op_count; i++) {
        const struct actual_key *there = key_room_find(owner, base, plan_get(plan, i).key);
        if (there) {
            after->keys--;
            after->bytes -= actual_key_bytes(there) + fixed_bytes(owner);
        }
    }
}

bool key_room_fit(const struct owner *owner, const struct key_amount *limit, struct slice base,
                  struct plan *plan, struct plan *left, struct key_amount *ret_after)
{
    const struct key_amount *taken = &owner->group->room.taken;
    const struct key_amount own = key_room_taken_by(owner);
    uint64_t others_keys = taken->keys - own.keys, others_bytes = taken->bytes - own.bytes;
    struct key_amount after = amount_in_etcd(owner);
    size_t kept = 0, kept_puts = 0;
    bool is_full = false;
    subtract_deletes(owner, base, plan, &after);
    for (size_t i = 0; i < plan->op_count; i++) {
        const struct etcd_op op = plan_get(plan, i);
        bool is_new = op.kind == ETCD_OP_PUT && plan->ops[i].revision == 0;
        bool is_own = slice_has_prefix(op.key, base);
        uint64_t bytes = op.key.len - (is_own ? base.len : 0) + op.value.len + fixed_bytes(owner);
        is_full |= is_new && is_own &&
                   (others_keys + after.keys >= limit->keys ||
                    others_bytes + after.bytes + bytes > limit->bytes);
        const uint64_t growth = is_new ? 0 : growth_of(owner, base, &op);
        const bool has_grown_beyond =
            growth > 0 && others_bytes + after.bytes + growth > limit->bytes;
        is_full |= has_grown_beyond;
        if ((is_new && is_full) || has_grown_beyond) {
            if (is_own && left->op_count < KEY_ROOM_SHOWN_MAX) {
                plan_add(left, &op, 0);
            }
            continue;
        }
        after.keys += is_new && is_own;
        after.bytes += is_new && is_own ? bytes : growth;
        kept_puts += op.kind == ETCD_OP_PUT;
        plan->ops[kept++] = plan->ops[i];
    }
    plan->op_count = kept;
    plan->put_count = kept_puts;
    *ret_after = after;
    return is_full;
}

/* ---- Those that wait ---- */

static void set_place(struct key_room *room, size_t at, struct owner *owner)
{
    room->waiting[at] = owner;
    owner->room_place = (uint32_t)(at + 1);
}

static bool is_before(const struct key_room *room, size_t a, size_t b)
{
    return slice_compare(room->waiting[a]->id, room->waiting[b]->id) < 0;
}

static void swap_places(struct key_room *room, size_t a, size_t b)
{
    struct owner *owner = room->waiting[a];
    set_place(room, a, room->waiting[b]);
    set_place(room, b, owner);
}

static void sift_up(struct key_room *room, size_t at)
{
    for (; at > 0 && is_before(room, at, (at - 1) / 2); at = (at - 1) / 2) {
        swap_places(room, at, (at - 1) / 2);
    }
}

static void sift_down(struct key_room *room, size_t at)
{
    for (size_t below = 2 * at + 1; below < room->waiting_count; below = 2 * at + 1) {
        below += below + 1 < room->waiting_count && is_before(room, below + 1, below);
        if (!is_before(room, below, at)) {
            return;
        }
        swap_places(room, at, below);
        at = below;
    }
}

void key_room_add_waiting(struct key_room *room, struct owner *owner)
{
    if (owner->room_place) {
        return;
    }
    room->waiting =
        xgrow_array(room->waiting, room->waiting_count, &room->waiting_cap, sizeof(struct owner *));
    set_place(room, room->waiting_count, owner);
    room->waiting_count++;
    sift_up(room, room->waiting_count - 1);
}

void key_room_remove_waiting(struct key_room *room, struct owner *owner)
{
    size_t at = owner->room_place - (size_t)1;
    if (!owner->room_place) {
        return;
    }
    room->waiting_count--;
    owner->room_place = 0;
    if (at < room->waiting_count) {
        set_place(room, at, room->waiting[room->waiting_count]);
        sift_up(room, at);
        sift_down(room, at);
    }
}
