/* Holds the owners of keys, the unit of the reconciler's work: "svc/<namespace>/<name>" for each
 * Service, and "pod/<namespace>/<address>". For any other key below svc/ and pod/ the first three
 * path segments are its owner, so that keys of other writers have one and can be removed.
 *
 * An unclaimed reverse key is an owner of its own, "arpa/in-addr/10/0/0/1", while it has work. So
 * is each key about clients, "node-address/10-1-0-1", "visible/default" and "client/10-1-0-5", and
 * each about the zones of a Service's addresses, "topology/default/web". All keys of the ConfigMap
 * belong to one owner, CONFIG_OWNER. Owners of keys in the multicluster domain are
 * "mcs/default/web" and "mcs-visible/default".
 *
 * A table has all owners; owner_groups_internal.h serves the queues of those to plan by turns.
 * Plain data, no I/O; single-threaded.
 *
 *     settled -> queued -> in flight -> settled | queued again
 *                       -> held (nothing of its plan may be written yet) -> queued
 *                       -> blocked (the rest of its plan is in flight with another's, or
 *                          its plan is large and too many such are) -> queued
 *                       -> contested (backs off: conflict_internal.h) -> queued
 *              in flight -> refused (backs off: refusal_internal.h) -> queued
 *                       -> settled, if there is nothing to do */
#ifndef KUBE2SKY_RECONCILE_OWNERS_INTERNAL_H
#define KUBE2SKY_RECONCILE_OWNERS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/key_table.h"
#include "common/base/slice.h"
#include "kube2sky/reconcile/actual.h"

struct etcd_kv;
struct transaction;
struct ip_list;
struct key_amount;
struct owner_group;
struct owner_groups;
struct reverse_lock;
struct slice_difference;
struct ownership;

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

/* Classes are planned from the last to the first: readers must know an address as a node's before
 * the pod has a name, and client records and zones delay nothing else. */
enum owner_class {
    OWNER_TOPOLOGY, /* zones of headless Services' addresses: topology_value.h */
    OWNER_CLIENT,   /* client records */
    OWNER_RECORDS,  /* keys of objects, and reverse keys */
    OWNER_CONFIG,   /* keys of the ConfigMap, and its document: config_keys_internal.h */
    OWNER_VISIBLE,
    OWNER_IMPORT_VISIBLE, /* the same keys of the multicluster domain */
    OWNER_NODE_ADDRESS,
    OWNER_CLASSES,
};

/* The ConfigMap's owner; no object has such an id. */
#define CONFIG_OWNER "ConfigMap"

const char *owner_state_name(enum owner_state state); /* a constant (owner_report.c) */

/* Names the mirror that shows a class's keys outside /skydns/. */
enum key_source_id {
    KEY_SOURCE_RECORDS, /* /skydns/ */
    KEY_SOURCE_CONFIG,  /* the ConfigMap's document */
    KEY_SOURCE_BESIDE,  /* /kube2sky/<domain>/ */
    KEY_SOURCE_IMPORTS, /* /kube2sky/<multicluster domain>/visible/ */
    KEY_FEEDS,
};

static inline enum key_source_id owner_class_source(enum owner_class class)
{
    return class == OWNER_RECORDS          ? KEY_SOURCE_RECORDS
           : class == OWNER_CONFIG         ? KEY_SOURCE_CONFIG
           : class == OWNER_IMPORT_VISIBLE ? KEY_SOURCE_IMPORTS
                                           : KEY_SOURCE_BESIDE;
}

/* A trigger's time fits into what alignment leaves of struct owner, up to 59 hours: 1 ms is the
 * narrowest bucket that it is counted in. */
enum { OWNER_TRIGGER_US = 100 };

struct owner {
    struct slice id;
    struct owner_group *group; /* the namespace's: owner_groups_internal.h */
    struct actual_keys actual; /* without reverse keys: reverse_keys_internal.h */
    struct ip_list *touched;   /* addresses that it affects and does not win: planner_internal.h */
    struct slice_difference *difference; /* all changes since it was settled; NULL: unknown */
    struct reverse_lock *locks;          /* in flight only: reverse_keys_internal.h */
    uint32_t desired_count;              /* own keys, when last planned */
    uint32_t left_count;                 /* desired keys that others have, left alone */
    uint32_t planned_keys;               /* keys in etcd once all planned transactions have
                                          * landed */
    uint32_t planned_bytes;              /* their bytes (key_room_internal.h) */
    uint32_t room_place;                 /* index in key_room's heap while held for want of room; 0:
                                          * not held for that */
    int32_t trigger_ahead;               /* with a trigger: from its time to changed_us, in units of
                                          * OWNER_TRIGGER_US */
    int64_t changed_us; /* monotonic; its objects' oldest change not yet sent; 0 = none */
    enum owner_class class;
    enum owner_state state;
    bool is_claim_due;    /* its objects changed since it last claimed its reverse names */
    bool is_in_doubt;     /* its wishes are not all known: no key that may be its own is deleted */
    bool has_copies;      /* keys with copied values, when last planned, are not deleted (plan.h) */
    bool is_too_large;    /* has more records, or bytes of them, than allowed: its keys are
                           * unchanged */
    bool is_too_long;     /* exceeds the limit of bytes */
    bool lacks_room;      /* new keys were left out of its last plan: key_room_internal.h */
    bool is_suspect;      /* was in a refused transaction: goes alone until one succeeds */
    bool is_refusal_told; /* was logged as refused alone */
    bool is_overtaken;    /* another writer changed a key of its last transaction: goes alone */
    bool is_split;        /* its reverse keys wait for a transaction of their own: goes alone */
    bool is_disturbed;    /* another writer changed its keys since it was last in flight */
    bool is_told;         /* its plan was passed on, in a dry run */
    bool has_claimed;     /* once at least */
    bool awaits_claims;   /* held only: claims of another namespace are due */
    uint8_t trigger;      /* of its change not yet sent: 1 + enum inventory_trigger; 0: none */
    bool has_place;       /* queued only: a slot for a large plan is reserved for it */
    struct refusal *refusal;   /* NULL for nearly all: refusal_internal.h */
    struct conflict *conflict; /* NULL for nearly all: conflict_internal.h */

    /* In flight only: whether to plan again after landing */
    bool has_changed;    /* its objects changed */
    bool is_partial;     /* operations were withheld when it boarded: it is planned after landing */
    int64_t first_event; /* first and last revision of the changes seen in flight, 0 = none; */
    int64_t last_event;  /* both its own transaction's if nothing else changed it */
    struct transaction *unfinished; /* holds the rest of its plan, larger than a transaction, while
                                     * that waits in the queue; else NULL */
    struct owner *blocked;          /* the first owner that waits for its reverse keys */
    struct owner *next;             /* in the queue, or among held or blocked owners */
    struct owner *prev;             /* among held owners */
    struct owner *next_due;         /* among owners whose claim is due */
    struct owner *next_here;        /* among pods' owners of the same address */
};

/* Counts owners that lack room, and namespaces that have such owners. */
struct lacking {
    size_t owners;
    size_t groups;
};

struct held_owners {
    struct owner *first;
    struct owner *last;
};

/* Others read it only: the groups' queues, and the counts. */
struct owners {
    const struct ownership *ownership;
    struct key_table table;
    struct key_table addresses;  /* by a pod's label: the first owner at each address */
    struct owner_groups *groups; /* queues of those to plan, and to claim */
    struct held_owners held[2];  /* [1]: owners that await claims */
    size_t promised_places;      /* slots for large plans that are reserved */
    size_t counts[OWNER_CLASSES][OWNER_STATES];
    size_t key_counts[OWNER_CLASSES]; /* keys in etcd */
    struct lacking lacking;
};

/* Creates the table; ownership is borrowed for its lifetime. */
struct owners *owners_new(const struct ownership *ownership);
void owners_free(struct owners *owners); /* NULL is fine */

struct owner *owners_find(const struct owners *owners,
                          struct slice id);                       /* returns NULL if unknown */
struct owner *owners_get(struct owners *owners, struct slice id); /* created if unknown */

/* Sets `out` to the common prefix of the owner's keys, "/skydns/local/cluster/svc/default/web". */
void owners_base(const struct owners *owners, const struct owner *owner, struct buf *out);

/* ---- Events of the mirrors; every key is a KEY_OBJECT or KEY_CLIENT (ownership_internal.h) ----
 */

/* Stores the key. Returns its owner if something changed, else NULL. generation: see actual.h. */
struct owner *owners_key_put(struct owners *owners, const struct etcd_kv *kv, uint32_t generation);
struct owner *owners_key_delete(struct owners *owners, struct slice key);

/* Do the same with a KEY_EXTERNAL of the owner "alias/default/web" or "ext/default/web". */
struct owner *owners_external_put(struct owners *owners, struct slice id, const struct etcd_kv *kv,
                                  uint32_t generation);
struct owner *owners_external_delete(struct owners *owners, struct slice id, struct slice key);

/* Return whether it owns external names, "alias/..."; names in the external zone, "ext/..."; and
 * whether the id is that of an import, "mcs/...". */
bool owner_is_alias(const struct owner *owner);
bool owner_is_external(const struct owner *owner);
bool owner_id_is_import(struct slice id);

/* Returns the revision that last wrote the key; 0: absent. */
int64_t owners_key_revision(const struct owners *owners, struct slice key);

/* Forgets the owner's keys of other generations after a full read. Returns true if there were
 * any. */
bool owners_sweep(struct owners *owners, struct owner *owner, uint32_t generation);

size_t owners_count(const struct owners *owners, enum owner_class class);

/* ---- The table ---- */

/* Frees the owner if it is settled, has and wants no keys, and has no conflict, refusal or claim
 * pending. */
void owners_forget_if_empty(struct owners *owners, struct owner *owner);

/* Calls fn for each owner. fn may change the owner, not the table. */
void owners_each(struct owners *owners, void (*fn)(void *data, struct owner *owner), void *data);

/* Calls fn for the owners in `count` slots of the table from *at on, and moves *at; start at 0.
 * Returns false at the end. Owners that move in the table between two calls may be missed or seen
 * twice; when all move, the number of slots changes. */
bool owners_each_part(struct owners *owners, size_t *at, size_t count,
                      void (*fn)(void *data, struct owner *owner), void *data);

/* Calls fn for the owners of one pod address, "10-1-0-1", in all namespaces. */
void owners_each_at(const struct owners *owners, struct slice label,
                    void (*fn)(void *data, struct owner *owner), void *data);

/* Returns the namespace in the id of a Service's, pod's or visibility's owner. For other owners,
 * returns the first segment with its slash, which no namespace has, or CONFIG_OWNER. */
struct slice owner_namespace(const struct owner *owner);

/* Returns the last segment of the id of a pod's address, "10-1-0-1"; empty for other owners. */
struct slice owner_pod_label(const struct owner *owner);

/* Return the same for a node's address, and the owner of such a label; NULL: unknown. */
struct slice owner_node_label(const struct owner *owner);
struct owner *owners_find_node(const struct owners *owners, struct slice label);

void owners_free_touched(struct owner *owner);
void owners_free_difference(struct owner *owner);

/* Returns whether the namespace of the owner's id has due claims that are worth waiting for. Those
 * of a namespace that has had its turn, and changes faster than it can claim, are not. */
bool owners_awaits_claims(const struct owners *owners, struct slice id);

/* ---- The queues ---- */

/* Queues the owner, which must be neither queued, blocked nor in flight. */
void owners_enqueue(struct owners *owners, struct owner *owner);

/* Queue the owner, in flight, for the rest of its plan; and remove it when it is first. */
void owners_enqueue_rest(struct owner *owner, struct transaction *transaction);
void owners_dequeue_rest(struct owner *owner);

/* Returns the class's next owner to plan; NULL: none. is_further: of a namespace that has a
 * transaction in flight, instead of one that has none. */
struct owner *owners_next(struct owners *owners, enum owner_class class, bool is_further);

/* Returns the next owner for a transaction that has last_aboard's namespace aboard. It is another
 * namespace's if that one has used its share. NULL: none. */
struct owner *owners_next_aboard(struct owners *owners, const struct owner *last_aboard,
                                 bool has_room_for_others);

/* Note that the owner's namespace has a transaction under way, and that etcd has answered it. */
void owners_begin_turn(const struct owner *owner);
void owners_end_turn(const struct owner *owner);

/* Charges the owner's namespace for planned records and sent bytes. */
void owners_charge(struct owner *owner, size_t bytes, size_t records);

/* owners_wait_for_place blocks the first owner of its namespace's queue until there is a slot for
 * its plan, larger than a transaction. owners_release_place queues the next such owner and reserves
 * a slot for it, until it leaves the queue. */
void owners_wait_for_place(struct owners *owners, struct owner *owner);
void owners_release_place(struct owners *owners);

/* owners_refuse sets a settled owner aside as refused; owners_land settles one in flight. */
void owners_refuse(struct owners *owners, struct owner *owner);
void owners_land(struct owners *owners, struct owner *owner);

/* owners_dequeue moves the owner, first of its namespace's queue, into another state. owners_block
 * blocks it until the locker's transaction has landed. */
void owners_dequeue(struct owners *owners, struct owner *owner, enum owner_state state);
void owners_block(struct owners *owners, struct owner *owner, struct owner *locker);

/* Queue all held owners; those that await claims; those that the locker blocks. Each costs as much
 * as the owners it queues. */
void owners_hold_release(struct owners *owners);
void owners_hold_release_claims(struct owners *owners);
void owners_blocked_release(struct owners *owners, struct owner *locker);

/* ---- Room for keys: key_room_internal.h ---- */

/* Notes, for an owner about to leave the queue with this plan, the keys that etcd has afterwards,
 * and whether new keys were left out. Returns true if it is the first of its namespace that lacks
 * room. */
bool owners_note_room(struct owners *owners, struct owner *owner, const struct key_amount *after,
                      bool lacks_room);

/* Lets the held owner wait until there is room. */
void owners_wait_for_room(struct owner *owner);

/* Returns how many owners of the class are in the state. */
size_t owners_in(const struct owners *owners, enum owner_class class, enum owner_state state);

#endif
