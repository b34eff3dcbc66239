/* Owners of keys, the unit of the reconciler's work: "svc/<namespace>/<name>" for each Service,
 * "pod/<namespace>/<address>", and for anything else below svc/ and pod/ its first three path
 * segments, so that foreign keys have an owner and can be removed. An unclaimed reverse key is an
 * owner of its own, "arpa/in-addr/10/0/0/1", while there is something to do about it; and so is
 * each key about clients, "node-address/10-1-0-1" and "visible/default". The external names that
 * lead to a Service are one owner's, "alias/default/web". All that the ConfigMap
 * asks for is one owner's, CONFIG_OWNER. A table of owners, and queues of those to plan, which
 * owner_groups_internal.h serves by turns. Plain data, no I/O; single-threaded.
 *
 *     settled -> queued -> in flight -> settled | queued again
 *                       -> held (nothing of its plan may be written yet) -> queued
 *                       -> blocked (what is left of its plan is in flight with another's, or
 *                          its plan is large and too many such are) -> queued
 *                       -> contested (rests: conflict_internal.h) -> queued
 *              in flight -> refused (waits: refusal_internal.h) -> queued
 *                       -> settled, if there is nothing to do */
#ifndef KUBE2SKY_RECONCILE_OWNERS_INTERNAL_H
#define KUBE2SKY_RECONCILE_OWNERS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/slice.h"
#include "kube2sky/reconcile/actual.h"

struct etcd_kv;
struct transaction;
struct ip_list;
struct key_amount;
struct owner_group;
struct reverse_lock;
struct slice_difference;

enum owner_state {
    OWNER_SETTLED,
    OWNER_QUEUED,
    OWNER_HELD,
    OWNER_BLOCKED,
    OWNER_CONTESTED,
    OWNER_REFUSED,
    OWNER_IN_FLIGHT,
    OWNER_STATES,
};

/* Planned from the last one on: a pod's address is a node's before the pod has a name. */
enum owner_class {
    OWNER_RECORDS, /* of objects, and reverse keys */
    OWNER_CONFIG,  /* of the ConfigMap, with its document: config_keys_internal.h */
    OWNER_VISIBLE,
    OWNER_NODE_ADDRESS,
    OWNER_CLASSES,
};

/* No object's id. */
#define CONFIG_OWNER "ConfigMap"

/* The mirror that shows a class's keys outside /skydns/. */
enum key_source_id {
    KEY_SOURCE_RECORDS, /* /skydns/ */
    KEY_SOURCE_CONFIG,  /* the ConfigMap's document */
    KEY_SOURCE_BESIDE,  /* /kube2sky/<domain>/ */
    KEY_FEEDS,
};

static inline enum key_source_id owner_class_source(enum owner_class class)
{
    return class == OWNER_RECORDS  ? KEY_SOURCE_RECORDS
           : class == OWNER_CONFIG ? KEY_SOURCE_CONFIG
                                   : KEY_SOURCE_BESIDE;
}

struct owner {
    struct slice id;
    struct owner_group *group; /* its namespace's: owner_groups_internal.h */
    struct actual_keys actual; /* without its reverse keys: reverse_keys_internal.h */
    struct ip_list *touched;   /* addresses that it concerns and does not win: planner_internal.h */
    struct slice_difference *difference; /* all that changed since it was settled; NULL: unknown */
    struct reverse_lock *locks;          /* in flight only: of reverse_keys_internal.h */
    uint32_t desired_count;              /* of its own keys, when last planned */
    uint32_t external_count;             /* desired reverse keys that others own, left alone */
    uint32_t planned_keys;               /* what etcd has once all that was planned has landed */
    uint32_t planned_bytes;              /* (key_room_internal.h) */
    uint32_t room_place;                 /* held for want of room: key_room_internal.h's; 0: not */
    int64_t changed_us; /* monotonic: its objects' oldest change not yet sent; 0 = none */
    enum owner_class class;
    enum owner_state state;
    bool is_claim_due;    /* its objects changed since it last claimed its reverse names */
    bool is_in_doubt;     /* what it wants is not all known: nothing that may be its is deleted */
    bool has_copies;      /* of its values, when last planned: not deleted (plan.h) */
    bool is_too_large;    /* has more records, or bytes of them, than it may: its keys are
                             unchanged */
    bool is_too_long;     /* and it is for the bytes */
    bool lacks_room;      /* new keys were left out of its last plan: key_room_internal.h */
    bool is_suspect;      /* was in a refused transaction: goes alone until one succeeds */
    bool is_refusal_told; /* and was logged as refused alone */
    bool is_overtaken;    /* somebody else changed a key of its last transaction: goes alone */
    bool is_split;        /* its reverse keys are left for a transaction of their own: goes alone */
    bool is_disturbed;    /* somebody else changed its keys since it was last in flight */
    bool is_told;         /* its plan was passed on, in a dry run */
    bool has_claimed;     /* once at least */
    bool awaits_claims;   /* held only: by claims of another namespace that are due */
    bool has_place;       /* queued only: a place for a large plan is kept for it */
    struct refusal *refusal;   /* NULL for nearly all: refusal_internal.h */
    struct conflict *conflict; /* NULL for nearly all: conflict_internal.h */

    /* In flight only: whether to plan again after landing */
    bool has_changed;    /* its objects changed */
    bool is_partial;     /* something was withheld when it boarded: it is looked at after landing */
    int64_t first_event; /* first and last revision of the changes seen in flight, 0 = none; */
    int64_t last_event;  /* both its own transaction's if nothing else changed it */
    struct transaction *unfinished; /* has the rest of its plan, larger than a transaction: it is in
                                  the queue, too, until that is sent; else NULL */
    struct owner *blocked;          /* the first one that waits for its reverse keys */
    struct owner *next;             /* in the queue, or among the held or blocked ones */
    struct owner *prev;             /* among the held ones */
    struct owner *next_due;         /* among those whose claim is due */
    struct owner *next_here;        /* of a pod's address: of the same address */
};

struct owners;
struct ownership;

/* Borrowed for good. */
struct owners *owners_new(const struct ownership *ownership);
void owners_free(struct owners *owners); /* NULL is fine */

struct owner *owners_find(const struct owners *owners, struct slice id); /* NULL: unknown */
struct owner *owners_get(struct owners *owners, struct slice id);        /* created if unknown */

/* Sets out to the owner's part of its keys, "/skydns/local/cluster/svc/default/web". */
void owners_base(const struct owners *owners, const struct owner *owner, struct buf *out);

/* ---- Events of the mirrors; every key is a KEY_OBJECT or KEY_CLIENT (ownership_internal.h) ----
 */

/* The key's owner if something changed, else NULL. generation: see actual.h. */
struct owner *owners_key_put(struct owners *owners, const struct etcd_kv *kv, uint32_t generation);
struct owner *owners_key_delete(struct owners *owners, struct slice key);

/* The same of a KEY_EXTERNAL that this owner has, "alias/default/web". */
struct owner *owners_external_put(struct owners *owners, struct slice id, const struct etcd_kv *kv,
                                  uint32_t generation);
struct owner *owners_external_delete(struct owners *owners, struct slice id, struct slice key);

/* Whether its keys are those of external names. */
bool owner_is_alias(const struct owner *owner);

/* The revision that last wrote the key; 0: absent. */
int64_t owners_key_revision(const struct owners *owners, struct slice key);

/* After a full read: forgets the owner's keys of other generations. True if there were any. */
bool owners_sweep(struct owners *owners, struct owner *owner, uint32_t generation);

size_t owners_count(const struct owners *owners, enum owner_class class);
size_t owners_key_count(const struct owners *owners, enum owner_class class);

/* ---- The table ---- */

/* Frees the owner if it is settled, has no keys, wants none, nor others', and nothing about it is
 * open. */
void owners_forget_if_empty(struct owners *owners, struct owner *owner);

/* fn may change the owner, not the table. */
void owners_each(struct owners *owners, void (*fn)(void *data, struct owner *owner), void *data);

/* The same, of those in `count` slots of the table from *at on, which moves on; start at 0. False:
 * that was the end. Those that move in the table between two calls may be missed or seen twice; the
 * number of slots tells when all do. */
bool owners_each_part(struct owners *owners, size_t *at, size_t count,
                      void (*fn)(void *data, struct owner *owner), void *data);
size_t owners_slots(const struct owners *owners);

/* The same, of those of one pod address, in whatever namespaces: "10-1-0-1". */
void owners_each_at(const struct owners *owners, struct slice label,
                    void (*fn)(void *data, struct owner *owner), void *data);

/* The namespace in the id of a Service's, pod's or visibility's owner; of others, the first segment
 * with its slash, which no namespace has, or CONFIG_OWNER. */
struct slice owner_namespace(const struct owner *owner);

/* The last segment of the id of a pod's address, "10-1-0-1"; empty: it is another owner. */
struct slice owner_pod_label(const struct owner *owner);

/* Likewise of a node's address; and its owner, NULL: unknown. */
struct slice owner_node_label(const struct owner *owner);
struct owner *owners_find_node(const struct owners *owners, struct slice label);

void owners_free_touched(struct owner *owner);
void owners_free_difference(struct owner *owner);

/* ---- Those whose claim is due ---- */

void owners_want_claim(struct owners *owners, struct owner *owner);
struct owner *owners_take_due(struct owners *owners); /* NULL: none */
void owners_charge_claim(struct owner *owner, size_t records);
bool owners_has_due(const struct owners *owners);

/* Whether the namespace of the owner's id has due claims that are worth waiting for: not when it
 * has had its turn and changes faster than it can claim. */
bool owners_awaits_claims(const struct owners *owners, struct slice id);

/* ---- The queues ---- */

/* Queues the owner, which must be neither queued, blocked nor in flight. */
void owners_enqueue(struct owners *owners, struct owner *owner);

/* Queues the owner, in flight, for the rest of its plan; and takes it out when it is first. */
void owners_enqueue_rest(struct owner *owner, struct transaction *transaction);
void owners_dequeue_rest(struct owner *owner);

/* Whether the class has one to plan; and the next one. is_further: of a namespace that has a
 * transaction in flight, instead of one that has none. NULL: none. */
bool owners_has_next(const struct owners *owners, enum owner_class class, bool is_further);
struct owner *owners_next(struct owners *owners, enum owner_class class, bool is_further);

/* The next one for a transaction that has last_aboard's namespace aboard: another one's when that
 * has had its share. NULL: none. */
struct owner *owners_next_aboard(struct owners *owners, const struct owner *last_aboard,
                                 bool has_room_for_others);

/* Its namespace gets a transaction under way; and etcd has answered that. */
void owners_begin_turn(const struct owner *owner);
void owners_end_turn(const struct owner *owner);

/* Its namespace is charged for what was planned and sent. */
void owners_charge(struct owner *owner, size_t bytes, size_t records);

/* Blocks the first of its namespace's queue until there is a place for its plan, larger than a
 * transaction; and queues the next one that waits so, with the promise of a place, which ends when
 * it leaves the queue. */
void owners_wait_for_place(struct owners *owners, struct owner *owner);
void owners_release_place(struct owners *owners);
bool owners_wants_place(const struct owners *owners);
size_t owners_promised_places(const struct owners *owners);

/* A settled one is set aside as refused; one in flight is settled. */
void owners_refuse(struct owners *owners, struct owner *owner);
void owners_land(struct owners *owners, struct owner *owner);

/* Moves the owner, the first of its namespace's queue, into another state; or blocks it until the
 * other one's transaction has landed. */
void owners_dequeue(struct owners *owners, struct owner *owner, enum owner_state state);
void owners_block(struct owners *owners, struct owner *owner, struct owner *locker);

/* Queues every held one; those that await claims; those that the owner blocks. Each costs what was
 * held back. */
void owners_hold_release(struct owners *owners);
void owners_hold_release_claims(struct owners *owners);
void owners_blocked_release(struct owners *owners, struct owner *locker);

/* ---- Room for keys: key_room_internal.h ---- */

/* The owner is about to leave the queue with this plan: what etcd has of it afterwards, and whether
 * new keys were left out. True if its namespace had none of which that is so. */
bool owners_note_room(struct owners *owners, struct owner *owner, const struct key_amount *after,
                      bool lacks_room);

/* The held owner waits until there is room. */
void owners_wait_for_room(struct owner *owner);

/* Owners that lack room, and namespaces that have such. */
struct lacking {
    size_t owners;
    size_t groups;
};
struct lacking owners_lacking(const struct owners *owners);

/* How many of the class are in the state. */
size_t owners_in(const struct owners *owners, enum owner_class class, enum owner_state state);

#endif
