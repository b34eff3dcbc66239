#include "kube2sky/reconcile/owner_groups_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/key_table.h"
#include "common/base/xalloc.h"
#include "kube2sky/naming/contract.h"
#include "kube2sky/reconcile/owners_internal.h"

struct owner_groups {
    struct key_table table;
    struct turns claiming;
    size_t due_count;
    struct turns placing;
    size_t class_count;
    struct turns sending[];
};

struct owner_groups *owner_groups_new(size_t class_count)
{
    struct owner_groups *groups =
        xcalloc(1, sizeof(*groups) + class_count * sizeof(groups->sending[0]));
    key_table_init_keyed(&groups->table);
    groups->class_count = class_count;
    groups->claiming.quantum = OWNER_GROUP_QUANTUM_RECORDS;
    groups->placing.quantum = 1;
    for (size_t i = 0; i < class_count; i++) {
        groups->sending[i].quantum = OWNER_GROUP_QUANTUM_BYTES;
    }
    return groups;
}

void owner_groups_free(struct owner_groups *groups)
{
    size_t at = 0;
    if (!groups) {
        return;
    }
    for (struct owner_group *group = key_table_next(&groups->table, &at); group;
         at++, group = key_table_next(&groups->table, &at)) {
        key_room_fini(&group->room);
        free(group);
    }
    key_table_fini(&groups->table);
    free(groups);
}

/* Returns the name of the owner's group: its namespace; keys about visibility have a group of their
 * own in each domain. */
static struct slice group_name(const struct owner *owner)
{
    size_t len = owner->class == OWNER_VISIBLE          ? sizeof(VISIBLE_PREFIX) - 1
                 : owner->class == OWNER_IMPORT_VISIBLE ? sizeof(IMPORT_VISIBLE_PREFIX) - 1
                                                        : 0;
    return len ? slice_of(owner->id.ptr, len) : owner_namespace(owner);
}

struct owner_group *owner_groups_find(const struct owner_groups *groups, const struct owner *owner)
{
    return key_table_find(&groups->table, group_name(owner));
}

void owner_groups_join(struct owner_groups *groups, struct owner *owner)
{
    struct owner_group *group = owner_groups_find(groups, owner);
    if (!group) {
        group = key_table_add(&groups->table, group_name(owner), sizeof(*group));
        group->turns = &groups->sending[owner->class];
        group->sending.who = group;
        group->claiming.who = group;
        group->placing.who = group;
    }
    group->owner_count++;
    owner->group = group;
}

void owner_groups_leave(struct owner_groups *groups, struct owner *owner)
{
    struct owner_group *group = owner->group;
    group->owner_count--;
    if (group->owner_count == 0) {
        (void)key_table_take(&groups->table, group->name);
        turns_remove(group->turns, &group->sending);
        turns_remove(&groups->claiming, &group->claiming);
        turns_remove(&groups->placing, &group->placing);
        key_room_fini(&group->room);
        free(group);
    }
}

/* ---- Owners to plan ---- */

/* Lets the group plan only when no claim is due: by then the wishes of its own objects are
 * known. */
static void note_work(struct owner_group *group)
{
    bool has_work = group->first && !owner_group_awaits_claims(group);
    turns_set_work(group->turns, &group->sending, has_work);
}

void owner_group_append(struct owner *owner)
{
    struct owner_group *group = owner->group;
    owner->next = NULL;
    *(group->last ? &group->last->next : &group->first) = owner;
    group->last = owner;
    note_work(group);
}

struct owner *owner_group_take(struct owner_group *group)
{
    struct owner *owner = group->first;
    group->first = owner->next;
    group->last = group->first ? group->last : NULL;
    owner->next = NULL;
    group->claimed = 0;
    note_work(group);
    return owner;
}

struct owner_group *owner_groups_next(struct owner_groups *groups, size_t class, bool is_further)
{
    struct turns *turns = &groups->sending[class];
    struct turn *turn = is_further ? turns_next_further(turns) : turns_next(turns);
    return turn ? turn->who : NULL;
}

bool owner_groups_has_next(const struct owner_groups *groups, size_t class, bool is_further)
{
    const struct turns *turns = &groups->sending[class];
    return is_further ? turns_has_further(turns) : turns->ready_count > 0;
}

/* ---- Places ---- */

void owner_groups_want_place(struct owner_groups *groups, struct owner *owner)
{
    struct owner_group *group = owner->group;
    owner->next = NULL;
    *(group->last_waiting ? &group->last_waiting->next : &group->first_waiting) = owner;
    group->last_waiting = owner;
    turns_set_work(&groups->placing, &group->placing, true);
}

struct owner *owner_groups_take_waiting(struct owner_groups *groups)
{
    struct turn *turn = turns_next(&groups->placing);
    if (!turn) {
        return NULL;
    }
    struct owner_group *group = turn->who;
    struct owner *owner = group->first_waiting;
    group->first_waiting = owner->next;
    group->last_waiting = group->first_waiting ? group->last_waiting : NULL;
    owner->next = NULL;
    turns_charge(turn, 1);
    turns_set_work(&groups->placing, turn, group->first_waiting != NULL);
    return owner;
}

bool owner_groups_has_waiting(const struct owner_groups *groups)
{
    return groups->placing.ready_count > 0;
}

/* ---- Due claims ---- */

void owner_groups_want_claim(struct owner_groups *groups, struct owner *owner)
{
    struct owner_group *group = owner->group;
    if (owner->is_claim_due) {
        return;
    }
    owner->is_claim_due = true;
    groups->due_count++;
    *(group->last_due ? &group->last_due->next_due : &group->first_due) = owner;
    group->last_due = owner;
    turns_set_work(&groups->claiming, &group->claiming, true);
    note_work(group);
}

struct owner *owner_groups_next_due(struct owner_groups *groups)
{
    struct turn *turn = turns_next(&groups->claiming);
    const struct owner_group *group = turn ? turn->who : NULL;
    return group ? group->first_due : NULL;
}

void owner_groups_end_due(struct owner_groups *groups, struct owner *owner)
{
    struct owner_group *group = owner->group;
    assert(group->first_due == owner);
    group->first_due = owner->next_due;
    group->last_due = group->first_due ? group->last_due : NULL;
    owner->next_due = NULL;
    owner->is_claim_due = false;
    groups->due_count--;
    turns_set_work(&groups->claiming, &group->claiming, group->first_due != NULL);
    note_work(group);
}

bool owner_groups_has_due(const struct owner_groups *groups)
{
    return groups->due_count > 0;
}

void owner_group_charge_claim(struct owner_group *group, size_t records)
{
    turns_charge(&group->claiming, (int64_t)records);
    group->claimed = group->first_due ? group->claimed + records : 0;
    note_work(group);
}
