#include "kube2sky/reconcile/owners_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/key_table.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "common/etcd/etcd_kv.h"
#include "kube2sky/naming/claims.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/naming/slice_change.h"
#include "kube2sky/reconcile/key_room_internal.h"
#include "kube2sky/reconcile/owner_groups_internal.h"
#include "kube2sky/reconcile/ownership_internal.h"

struct slice owner_namespace(const struct owner *owner)
{
    struct slice id = owner->id;
    bool is_object = slice_has_prefix(id, slice_str(SERVICE_PREFIX)) ||
                     slice_has_prefix(id, slice_str(POD_PREFIX)) || owner_is_external(owner) ||
                     owner_id_is_import(id);
    size_t skipped = is_object                              ? OWNER_PREFIX_LEN
                     : owner_is_alias(owner)                ? sizeof(ALIAS_PREFIX) - 1
                     : owner->class == OWNER_VISIBLE        ? sizeof(VISIBLE_PREFIX) - 1
                     : owner->class == OWNER_IMPORT_VISIBLE ? sizeof(IMPORT_VISIBLE_PREFIX) - 1
                     : owner->class == OWNER_TOPOLOGY       ? sizeof(TOPOLOGY_PREFIX) - 1
                                                            : 0;
    struct slice rest = slice_skip(id, skipped);
    const size_t len = rest.len;
    struct slice ns = slice_cut(&rest, '/');
    ns.len += skipped == 0 && ns.len < len; /* with the slash */
    return ns;
}

bool owner_is_alias(const struct owner *owner)
{
    return slice_has_prefix(owner->id, slice_str(ALIAS_PREFIX));
}

bool owner_is_external(const struct owner *owner)
{
    return slice_has_prefix(owner->id, slice_str(EXTERNAL_PREFIX));
}

bool owner_id_is_import(struct slice id)
{
    return slice_has_prefix(id, slice_str(IMPORT_PREFIX));
}

struct slice owner_pod_label(const struct owner *owner)
{
    struct slice label = owner->id;
    if (!slice_has_prefix(label, slice_str(POD_PREFIX))) {
        return slice_of(NULL, 0);
    }
    (void)slice_cut(&label, '/');
    (void)slice_cut(&label, '/');
    return label;
}

struct slice owner_node_label(const struct owner *owner)
{
    size_t skipped = sizeof(NODE_ADDRESS_PREFIX) - 1;
    bool is_node = owner->class == OWNER_NODE_ADDRESS;
    return is_node ? slice_skip(owner->id, skipped) : slice_of(NULL, 0);
}

static struct slice owners_label_of(const void *thing)
{
    return owner_pod_label(thing);
}

struct owners *owners_new(const struct ownership *ownership)
{
    struct owners *owners = xcalloc(1, sizeof(*owners));
    owners->ownership = ownership;
    owners->groups = owner_groups_new(OWNER_CLASSES);
    key_table_init_keyed(&owners->table);
    key_table_init(&owners->addresses, owners_label_of);
    return owners;
}

void owners_free_touched(struct owner *owner)
{
    if (owner->touched) {
        ip_list_fini(owner->touched);
        free(owner->touched);
        owner->touched = NULL;
    }
}

void owners_free_difference(struct owner *owner)
{
    slice_difference_free(owner->difference);
    owner->difference = NULL;
}

static void free_owner(struct owner *owner)
{
    owners_free_difference(owner);
    owners_free_touched(owner);
    actual_fini(&owner->actual);
    free(owner);
}

void owners_free(struct owners *owners)
{
    size_t at = 0;
    if (!owners) {
        return;
    }
    for (struct owner *owner = key_table_next(&owners->table, &at); owner;
         at++, owner = key_table_next(&owners->table, &at)) {
        free_owner(owner);
    }
    key_table_fini(&owners->table);
    key_table_fini(&owners->addresses);
    owner_groups_free(owners->groups);
    free(owners);
}

struct owner *owners_find(const struct owners *owners, struct slice id)
{
    return key_table_find(&owners->table, id);
}

/* ---- Pods' addresses ---- */

static void owners_add_address(struct owners *owners, struct owner *owner)
{
    struct slice label = owner_pod_label(owner);
    struct owner *first = label.len ? key_table_find(&owners->addresses, label) : NULL;
    if (first) {
        owner->next_here = first->next_here;
        first->next_here = owner;
    } else if (label.len) {
        (void)key_table_put(&owners->addresses, owner); /* returns NULL: it was absent */
    }
}

static void remove_address(struct owners *owners, struct owner *owner)
{
    struct slice label = owner_pod_label(owner);
    struct owner *at = label.len ? key_table_find(&owners->addresses, label) : NULL;
    if (at == owner) {
        (void)key_table_take(&owners->addresses, label);
        if (owner->next_here) {
            (void)key_table_put(&owners->addresses, owner->next_here);
        }
        return;
    }
    while (at && at->next_here != owner) {
        at = at->next_here;
    }
    if (at) {
        at->next_here = owner->next_here;
    }
}

void owners_each_at(const struct owners *owners, struct slice label,
                    void (*fn)(void *data, struct owner *owner), void *data)
{
    struct owner *owner = key_table_find(&owners->addresses, label);
    for (; owner; owner = owner->next_here) {
        fn(data, owner);
    }
}

/* ---- The table's owners ---- */

static enum owner_class owners_class_of(struct slice id)
{
    return slice_has_prefix(id, slice_str(NODE_ADDRESS_PREFIX))     ? OWNER_NODE_ADDRESS
           : slice_has_prefix(id, slice_str(VISIBLE_PREFIX))        ? OWNER_VISIBLE
           : slice_has_prefix(id, slice_str(CLIENT_PREFIX))         ? OWNER_CLIENT
           : slice_has_prefix(id, slice_str(TOPOLOGY_PREFIX))       ? OWNER_TOPOLOGY
           : slice_has_prefix(id, slice_str(IMPORT_VISIBLE_PREFIX)) ? OWNER_IMPORT_VISIBLE
           : slice_equal(id, slice_str(CONFIG_OWNER))               ? OWNER_CONFIG
                                                                    : OWNER_RECORDS;
}

static void add_held(struct owners *owners, struct owner *owner)
{
    struct held_owners *held = &owners->held[owner->awaits_claims];
    owner->prev = held->last;
    owner->next = NULL;
    *(held->last ? &held->last->next : &held->first) = owner;
    held->last = owner;
}

static void remove_held(struct owners *owners, struct owner *owner)
{
    struct held_owners *held = &owners->held[owner->awaits_claims];
    *(owner->prev ? &owner->prev->next : &held->first) = owner->next;
    *(owner->next ? &owner->next->prev : &held->last) = owner->prev;
    owner->prev = NULL;
    owner->next = NULL;
    owner->awaits_claims = false;
}

/* Sets the state of an owner that is in no queue. */
static void set_state(struct owners *owners, struct owner *owner, enum owner_state state)
{
    struct key_room *room = &owner->group->room;
    if (owner->state == OWNER_HELD) {
        remove_held(owners, owner);
    }
    owners->promised_places -= owner->has_place;
    owner->has_place = false;
    owners->counts[owner->class][owner->state]--;
    owner->state = state;
    owners->counts[owner->class][owner->state]++;
    key_room_remove_waiting(room, owner); /* is not held any longer */
    room->offered = room->offered == owner ? NULL : room->offered;
    if (state == OWNER_HELD) {
        add_held(owners, owner);
    }
}

struct owner *owners_get(struct owners *owners, struct slice id)
{
    struct owner *owner = owners_find(owners, id);
    if (owner) {
        return owner;
    }
    owner = key_table_add(&owners->table, id, sizeof(*owner));
    owner->class = owners_class_of(id);
    owners->counts[owner->class][OWNER_SETTLED]++;
    owner_groups_join(owners->groups, owner);
    owners_add_address(owners, owner);
    return owner;
}

void owners_base(const struct owners *owners, const struct owner *owner, struct buf *out)
{
    buf_clear(out);
    ownership_base(owners->ownership, owner->id, out);
}

struct owner *owners_find_node(const struct owners *owners, struct slice label)
{
    enum { PREFIX_LEN = sizeof(NODE_ADDRESS_PREFIX) - 1 };
    char id[PREFIX_LEN + DNAME_LABEL_MAX] = NODE_ADDRESS_PREFIX;
    if (label.len > DNAME_LABEL_MAX) { /* a key of another writer */
        return NULL;
    }
    memcpy(id + PREFIX_LEN, label.ptr, label.len);
    return owners_find(owners, slice_of(id, PREFIX_LEN + label.len));
}

/* ---- Room for keys ---- */

/* Offers the room to the waiting owner with the first name. It leaves the waiting ones, so that it
 * is offered once. */
static void offer_room(struct owners *owners, struct key_room *room)
{
    if (room->waiting_count && !room->offered) {
        struct owner *first = room->waiting[0];
        owners_enqueue(owners, first);
        room->offered = first;
    }
}

static void note_taken(struct owners *owners, struct owner *owner, const struct key_amount *before)
{
    if (key_room_changed(&owner->group->room, owner, before)) {
        offer_room(owners, &owner->group->room);
    }
}

static bool set_lacks_room(struct owners *owners, struct owner *owner, bool lacks_room)
{
    struct key_room *room = &owner->group->room;
    bool was_none = room->lacking_count == 0;
    room->lacking_count += (size_t)lacks_room - (size_t)owner->lacks_room;
    owners->lacking.owners += (size_t)lacks_room - (size_t)owner->lacks_room;
    owners->lacking.groups += (size_t)(room->lacking_count > 0) - (size_t)!was_none;
    owner->lacks_room = lacks_room;
    return was_none && lacks_room;
}

bool owners_note_room(struct owners *owners, struct owner *owner, const struct key_amount *after,
                      bool lacks_room)
{
    struct key_room *room = &owner->group->room;
    struct key_amount before = key_room_taken_by(owner);
    bool may_be_room = owner->lacks_room && !lacks_room;
    owner->planned_keys = (uint32_t)after->keys;
    owner->planned_bytes = after->bytes < UINT32_MAX ? (uint32_t)after->bytes : UINT32_MAX;
    may_be_room |= key_room_changed(room, owner, &before);
    bool is_first = set_lacks_room(owners, owner, lacks_room);
    room->offered = room->offered == owner ? NULL : room->offered;
    if (may_be_room) {
        offer_room(owners, room);
    }
    return is_first;
}

void owners_wait_for_room(struct owner *owner)
{
    assert(owner->state == OWNER_HELD);
    key_room_add_waiting(&owner->group->room, owner);
}

/* ---- Events of the mirror ---- */

static struct owner *put_part(struct owners *owners, const struct object_key *key,
                              const struct etcd_kv *kv, uint32_t generation)
{
    enum key_place place = ownership_place(owners->ownership, kv->key);
    struct owner *owner = owners_get(owners, key->owner);
    struct key_amount taken = key_room_taken_by(owner);
    size_t before = owner->actual.count;
    const struct actual_value value = {
        .hash = actual_value_hash(kv->value),
        .revision = kv->mod_revision,
        .generation = generation,
        .length = (uint32_t)kv->value.len & ACTUAL_LENGTH_MAX,
        .is_ours =
            owner_is_alias(owner) || ownership_has(owners->ownership, place, kv->key, kv->value),
        .may_be_copy =
            place == KEY_OBJECT && ownership_may_be_copy(owners->ownership, kv->key, kv->value),
    };
    bool has_changed = actual_put(&owner->actual, key->suffix, &value);
    owners->key_counts[owner->class] += owner->actual.count - before;
    (void)key_room_changed(&owner->group->room, owner, &taken);
    return has_changed ? owner : NULL;
}

struct owner *owners_key_put(struct owners *owners, const struct etcd_kv *kv, uint32_t generation)
{
    struct object_key key = ownership_part(owners->ownership, kv->key);
    return put_part(owners, &key, kv, generation);
}

static struct owner *delete_part(struct owners *owners, const struct object_key *key)
{
    struct owner *owner = owners_find(owners, key->owner);
    struct key_amount taken = owner ? key_room_taken_by(owner) : (struct key_amount){0};
    if (!owner || !actual_delete(&owner->actual, key->suffix)) {
        return NULL;
    }
    owners->key_counts[owner->class]--;
    note_taken(owners, owner, &taken);
    return owner;
}

struct owner *owners_key_delete(struct owners *owners, struct slice key)
{
    struct object_key parted = ownership_part(owners->ownership, key);
    return delete_part(owners, &parted);
}

/* Returns the key's parts: its suffix begins behind EXTERNAL_BASE, with the slash. */
static struct object_key part_external(struct slice id, struct slice key)
{
    enum { BASE_LEN = sizeof(EXTERNAL_BASE) - 1 };
    return (struct object_key){.owner = id, .suffix = slice_skip(key, BASE_LEN)};
}

struct owner *owners_external_put(struct owners *owners, struct slice id, const struct etcd_kv *kv,
                                  uint32_t generation)
{
    struct object_key key = part_external(id, kv->key);
    return put_part(owners, &key, kv, generation);
}

struct owner *owners_external_delete(struct owners *owners, struct slice id, struct slice key)
{
    struct object_key parted = part_external(id, key);
    return delete_part(owners, &parted);
}

int64_t owners_key_revision(const struct owners *owners, struct slice key)
{
    struct object_key parted = ownership_part(owners->ownership, key);
    const struct owner *owner = owners_find(owners, parted.owner);
    const struct actual_key *there = owner ? actual_find(&owner->actual, parted.suffix) : NULL;
    return there ? there->value.revision : 0;
}

bool owners_sweep(struct owners *owners, struct owner *owner, uint32_t generation)
{
    struct key_amount taken = key_room_taken_by(owner);
    size_t swept = actual_sweep(&owner->actual, generation);
    owners->key_counts[owner->class] -= swept;
    note_taken(owners, owner, &taken);
    return swept > 0;
}

size_t owners_count(const struct owners *owners, enum owner_class class)
{
    size_t count = 0;
    for (size_t state = 0; state < OWNER_STATES; state++) {
        count += owners->counts[class][state];
    }
    return count;
}

/* ---- The table ---- */

void owners_forget_if_empty(struct owners *owners, struct owner *owner)
{
    bool is_empty = owner->actual.count == 0 && owner->desired_count == 0 && !owner->left_count;
    bool is_open = owner->is_claim_due || owner->is_in_doubt || owner->conflict || owner->refusal;
    if (owner->state == OWNER_SETTLED && is_empty && !is_open) {
        (void)owners_note_room(owners, owner, &(struct key_amount){0}, false);
        (void)key_table_take(&owners->table, owner->id);
        owners->counts[owner->class][OWNER_SETTLED]--;
        remove_address(owners, owner);
        owner_groups_leave(owners->groups, owner);
        free_owner(owner);
    }
}

void owners_each(struct owners *owners, void (*fn)(void *data, struct owner *owner), void *data)
{
    size_t at = 0;
    for (struct owner *owner = key_table_next(&owners->table, &at); owner;
         at++, owner = key_table_next(&owners->table, &at)) {
        fn(data, owner);
    }
}

bool owners_each_part(struct owners *owners, size_t *at, size_t count,
                      void (*fn)(void *data, struct owner *owner), void *data)
{
    size_t end = *at + count;
    struct owner *owner = key_table_next(&owners->table, at);
    for (; owner && *at < end; ++*at, owner = key_table_next(&owners->table, at)) {
        fn(data, owner);
    }
    return owner != NULL;
}

/* ---- Due claims ---- */

bool owners_awaits_claims(const struct owners *owners, struct slice id)
{
    const struct owner sought = {.id = id, .class = owners_class_of(id)};
    const struct owner_group *group = owner_groups_find(owners->groups, &sought);
    return group && owner_group_awaits_claims(group);
}

/* ---- The queues ---- */

void owners_enqueue(struct owners *owners, struct owner *owner)
{
    assert(owner->state != OWNER_QUEUED && owner->state != OWNER_BLOCKED &&
           owner->state != OWNER_IN_FLIGHT);
    set_state(owners, owner, OWNER_QUEUED);
    owner_group_append(owner);
}

void owners_enqueue_rest(struct owner *owner, struct transaction *transaction)
{
    assert(owner->state == OWNER_IN_FLIGHT && !owner->unfinished);
    owner->unfinished = transaction;
    owner_group_append(owner);
}

void owners_dequeue_rest(struct owner *owner)
{
    assert(owner->group->first == owner);
    (void)owner_group_take(owner->group);
    owner->unfinished = NULL;
}

struct owner *owners_next(struct owners *owners, enum owner_class class, bool is_further)
{
    const struct owner_group *group = owner_groups_next(owners->groups, class, is_further);
    return group ? group->first : NULL;
}

struct owner *owners_next_aboard(struct owners *owners, const struct owner *last_aboard,
                                 bool has_room_for_others)
{
    const struct owner_group *group = last_aboard->group;
    bool has_others = owner_groups_has_next(owners->groups, last_aboard->class, false);
    if (owner_group_has_work(group) && (owner_group_has_credit(group) || !has_others)) {
        return group->first;
    }
    return has_room_for_others ? owners_next(owners, last_aboard->class, false) : NULL;
}

void owners_begin_turn(const struct owner *owner)
{
    turns_begin(owner->group->turns, &owner->group->sending);
}

void owners_end_turn(const struct owner *owner)
{
    turns_end(owner->group->turns, &owner->group->sending);
}

void owners_charge(struct owner *owner, size_t bytes, size_t records)
{
    turns_charge(&owner->group->sending, (int64_t)(bytes + records * OWNER_GROUP_RECORD_BYTES));
}

void owners_wait_for_place(struct owners *owners, struct owner *owner)
{
    assert(owner->group->first == owner);
    (void)owner_group_take(owner->group);
    set_state(owners, owner, OWNER_BLOCKED);
    owner_groups_want_place(owners->groups, owner);
}

/* Queues a blocked owner. */
static void owners_unblock(struct owners *owners, struct owner *owner)
{
    set_state(owners, owner, OWNER_QUEUED);
    owner_group_append(owner);
}

void owners_release_place(struct owners *owners)
{
    struct owner *owner = owner_groups_take_waiting(owners->groups);
    if (owner) {
        owners_unblock(owners, owner);
        owner->has_place = true;
        owners->promised_places++;
    }
}

void owners_dequeue(struct owners *owners, struct owner *owner, enum owner_state state)
{
    assert(owner->group->first == owner);
    (void)owner_group_take(owner->group);
    owners_free_difference(owner); /* the next plan looks at all keys */
    set_state(owners, owner, state);
}

void owners_block(struct owners *owners, struct owner *owner, struct owner *locker)
{
    owners_dequeue(owners, owner, OWNER_BLOCKED);
    owner->next = locker->blocked;
    locker->blocked = owner;
}

void owners_refuse(struct owners *owners, struct owner *owner)
{
    assert(owner->state == OWNER_SETTLED);
    set_state(owners, owner, OWNER_REFUSED);
}

void owners_land(struct owners *owners, struct owner *owner)
{
    assert(owner->state == OWNER_IN_FLIGHT);
    set_state(owners, owner, OWNER_SETTLED);
}

static void release_held(struct owners *owners, bool awaits_claims)
{
    while (owners->held[awaits_claims].first) {
        owners_enqueue(owners, owners->held[awaits_claims].first);
    }
}

void owners_hold_release(struct owners *owners)
{
    release_held(owners, false);
    release_held(owners, true);
}

void owners_hold_release_claims(struct owners *owners)
{
    release_held(owners, true);
}

void owners_blocked_release(struct owners *owners, struct owner *locker)
{
    while (locker->blocked) {
        struct owner *owner = locker->blocked;
        locker->blocked = owner->next;
        owners_unblock(owners, owner);
    }
}

size_t owners_in(const struct owners *owners, enum owner_class class, enum owner_state state)
{
    return owners->counts[class][state];
}
