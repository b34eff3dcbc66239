/* Groups owners of keys that share etcd and the loop's time. There is one group for each namespace,
 * one for unclaimed reverse keys, and one for each class of keys beside the records. A group has
 * two queues, of owners to plan and of owners whose claim is due, each first in, first out.
 * turns_internal.h chooses among groups. Plain data; single-threaded. */
#ifndef KUBE2SKY_RECONCILE_OWNER_GROUPS_INTERNAL_H
#define KUBE2SKY_RECONCILE_OWNER_GROUPS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "kube2sky/reconcile/key_room_internal.h"
#include "kube2sky/reconcile/turns_internal.h"

struct owner;

/* Bytes that a group may write before the next has its turn: about one full transaction, so that a
 * round among many groups costs etcd no more transactions. A planned record counts like some
 * written bytes, for the time that it takes. */
enum { OWNER_GROUP_QUANTUM_BYTES = 64 * 1024, OWNER_GROUP_RECORD_BYTES = 32 };

/* Records that a group may claim in a row: as many as one turn of the loop does. After so many, one
 * of its owners is planned although further claims are due. So a namespace that changes faster than
 * it can claim delays neither itself, nor owners that wait for its slots or reverse names. */
enum { OWNER_GROUP_QUANTUM_RECORDS = 4096 };

struct owner_group {
    struct slice name; /* a namespace, "arpa/", "node-address/", "visible/", "client/" or
                        * CONFIG_OWNER */
    struct turns *turns;
    size_t owner_count; /* the group is freed with its last owner */
    struct turn sending;
    struct turn claiming;
    struct owner *first; /* to plan, or to send the rest of a large plan */
    struct owner *last;
    struct owner *first_due;
    struct owner *last_due;
    size_t claimed; /* records claimed since an owner was planned; 0 while no claim is due */
    struct turn placing;
    struct owner *first_waiting; /* waits for a slot for a plan larger than a transaction */
    struct owner *last_waiting;
    struct key_room room;
};

struct owner_groups;

/* Creates the groups, with turns for each class of owners. */
struct owner_groups *owner_groups_new(size_t class_count);
void owner_groups_free(struct owner_groups *groups); /* call it after the owners; NULL is fine */

/* Join the owner to its id's group, created if need be; and remove it from there. */
void owner_groups_join(struct owner_groups *groups, struct owner *owner);
void owner_groups_leave(struct owner_groups *groups, struct owner *owner);

/* Returns the group of the owner's id; NULL: there is none. */
struct owner_group *owner_groups_find(const struct owner_groups *groups, const struct owner *owner);

/* ---- Owners to plan ---- */

void owner_group_append(struct owner *owner);
struct owner *owner_group_take(struct owner_group *group); /* removes and returns the first */

/* Returns the group with work that is next, among groups with nothing in flight or, with
 * is_further, with something; NULL: none. */
struct owner_group *owner_groups_next(struct owner_groups *groups, size_t class, bool is_further);
bool owner_groups_has_next(const struct owner_groups *groups, size_t class, bool is_further);

static inline bool owner_group_has_work(const struct owner_group *group)
{
    return group->sending.has_work;
}

static inline bool owner_group_has_credit(const struct owner_group *group)
{
    return turns_has_credit(group->turns, &group->sending);
}

/* ---- Owners whose plan is larger than a transaction, while too many such are being sent ---- */

void owner_groups_want_place(struct owner_groups *groups, struct owner *owner);
struct owner *owner_groups_take_waiting(
    struct owner_groups *groups); /* by turns; returns NULL if none waits */
bool owner_groups_has_waiting(const struct owner_groups *groups);

/* ---- Due claims ---- */

void owner_groups_want_claim(struct owner_groups *groups, struct owner *owner);
struct owner *owner_groups_next_due(struct owner_groups *groups); /* returns NULL if none is due */
void owner_groups_end_due(struct owner_groups *groups, struct owner *owner); /* its group's first */
bool owner_groups_has_due(const struct owner_groups *groups);
void owner_group_charge_claim(struct owner_group *group, size_t records);

static inline bool owner_group_awaits_claims(const struct owner_group *group)
{
    return group->first_due && group->claimed < OWNER_GROUP_QUANTUM_RECORDS;
}

#endif
