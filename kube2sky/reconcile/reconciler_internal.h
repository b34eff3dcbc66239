/* Shares the state and functions of the reconciler's files. reconciler.c works in each turn of the
 * loop, reconciler_send.c claims, plans and sends, reconciler_transactions.c handles outcomes of
 * transactions, and reconciler_mirror.c etcd's events. reconciler_history.c limits the history in
 * etcd's space. reconciler_clients.c lets pods' owners and keys about clients wait for each other,
 * reconciler_config.c handles the ConfigMap's keys, and reconciler_report.c serves pages,
 * metrics and the log. */
#ifndef KUBE2SKY_RECONCILE_RECONCILER_INTERNAL_H
#define KUBE2SKY_RECONCILE_RECONCILER_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/backoff.h"
#include "common/base/metrics.h"
#include "common/base/outage.h"
#include "kube2sky/naming/causes.h"
#include "kube2sky/naming/client_keys.h"
#include "kube2sky/reconcile/config_keys_internal.h"
#include "kube2sky/reconcile/key_source_internal.h"
#include "kube2sky/reconcile/owners_internal.h"
#include "kube2sky/reconcile/ownership_internal.h"
#include "kube2sky/reconcile/plan.h"
#include "kube2sky/reconcile/planner_internal.h"
#include "kube2sky/reconcile/reconciler.h"
#include "kube2sky/reconcile/reverse_keys_internal.h"
#include "kube2sky/reconcile/transactions_internal.h"

struct conflicts;
struct etcd_call;
struct etcd_space;
struct history;
struct leader;
struct refusals;
struct serial_key;

/* Logs finished work: one line whenever the queue empties, at most one per second, since a steady
 * stream of changes is not news. Notes the first time that the queue was empty. */
struct sync_report {
    struct ev_loop *loop;
    ev_timer timer; /* active: writes the pending line */

    /* Counted by the reconciler. */
    uint64_t keys_written;
    uint64_t keys_deleted;
    uint64_t desired; /* keys wanted now */

    bool has_synced; /* the queue has been empty once */
    bool is_in_sync; /* at the last update */
    uint64_t told_written;
    uint64_t told_deleted;
    int64_t told_ms; /* when the last line was written */
};

struct reconciler {
    struct reconciler_config config;
    struct leader *leader; /* NULL: this is the only writer */
    struct transactions *transactions;
    struct conflicts *conflicts;
    struct refusals *refusals;
    struct serial_key *serial_key;
    struct serial_key *import_serial; /* of the multicluster domain; NULL: there is none */

    /* etcd's content, as the mirrors show it */
    struct key_source feeds[KEY_FEEDS];
    struct ownership ownership;
    struct owners *owners;
    struct config_keys config_keys;
    bool is_config_given_up; /* true while the ConfigMap cannot be read, or is refused */
    struct reverse_keys *reverse_keys;
    struct external_aliases *aliases; /* NULL: none are wanted */
    struct external_keys *external_keys;
    struct buf owner_object; /* scratch buffers */
    struct buf beside_id;
    struct buf import_visible_id;
    bool are_orphans_due;          /* unclaimed reverse keys must be looked for */
    struct outage_source followed; /* away while the watch of records is down */

    /* Sending */
    struct outage_source written;      /* away from a failed transaction to the next success */
    struct err refused[OWNER_CLASSES]; /* the last refusal of a single owner; msg "": none is
                                        * waiting */
    struct etcd_space *space;
    struct history *history;
    ev_timer history_timer;
    struct etcd_call *history_call; /* NULL: no request is under way */
    struct backoff backoff;
    ev_timer retry; /* active while etcd is away: no transaction is sent */

    /* The work */
    ev_prepare turn;
    ev_idle stay_awake; /* active while there is more to plan: the loop must not sleep */
    struct planner planner;
    struct plan plan; /* of the owner last planned */
    bool was_complete;
    bool must_plan;        /* claims took a whole turn: the next one is for plans */
    uint64_t completions;  /* inventory_completions at the last look */
    bool has_claimed;      /* all claims have been registered once */
    int64_t claims_due_us; /* monotonic: claims have been due without a break since then; 0: none
                            * are */
    bool may_delete_clients[CLIENT_KEYS_PARTS]; /* client_keys_may_delete at the last look */
    uint64_t desired;                           /* owners' own keys */
    uint64_t others;                            /* desired reverse keys that belong to other
                                                 * writers */
    uint64_t external;                          /* desired keys in the external zone */
    uint64_t alias_left;                        /* external names, likewise */
    uint64_t trimmed_at;                        /* keys_deleted when memory was last given back */
    uint64_t trimmed_reads;                     /* full reads at that time */

    struct sync_report report;
    uint64_t transaction_count; /* acknowledged */
    uint64_t keys_restored;
    uint64_t failures;
    uint64_t conflict_count;
    struct histogram transaction_time;
    struct histogram plan_time;
    struct histogram change_time;
    struct histogram programming_time[INVENTORY_TRIGGERS];
    struct change_ring changes;
    struct causes *causes;

    void (*drained)(void *data);
    void *drained_data;
};

/* Queues the owner, unless it is queued or in flight. */
void reconciler_want_look(struct reconciler *r, struct owner *owner);

bool reconciler_may_write(const struct reconciler *r);

/* Returns the number of owners of records to plan. */
size_t reconciler_queued(const struct reconciler *r);

/* ---- reconciler_send.c ---- */

/* Claim and plan by turns, while the budget of records lasts. The owner whose claim, or plan, was
 * not finished in an earlier turn of the loop comes first. */
void reconciler_claim_some(struct reconciler *r, size_t *budget);
void reconciler_plan_some(struct reconciler *r, size_t *budget);
bool reconciler_can_plan(struct reconciler *r);

/* ---- reconciler_transactions.c ---- */

/* Creates r's transactions, conflicts and refusals. */
void reconciler_open_transactions(struct reconciler *r);

/* Returns whether a key in a transaction is a reverse key, not its owner's own. */
bool reconciler_is_reverse_key(struct slice key);

/* ---- reconciler_history.c ---- */

void reconciler_open_history(struct reconciler *r);
void reconciler_close_history(struct reconciler *r);
void reconciler_forget_history(struct reconciler *r); /* etcd has another data set */

/* Charges the owners' namespaces for an acknowledged transaction. */
void reconciler_charge_history(struct reconciler *r, const struct transaction *transaction);

/* Returns whether the owner's namespace may only delete until etcd has been compacted. */
bool reconciler_is_over_share(const struct reconciler *r, const struct owner *owner);

/* ---- reconciler_clients.c ---- */

/* Queues owners of changed keys about clients, in each turn of the loop. */
void reconciler_take_client_changes(struct reconciler *r);

/* Queues the owners that waited until this one settled: a node's address, or the pods at it. */
void reconciler_tell_settled(struct reconciler *r, const struct owner *owner);

/* Returns whether wanted keys remain to be written, or it is unknown whether any do. Keys that etcd
 * refuses do not count: they would delay everything else. */
bool reconciler_clients_are_pending(const struct reconciler *r);

/* Appends the failure that goes on, as one line without newline; returns false if there is none. */
bool reconciler_explain_clients(const struct reconciler *r, struct buf *out);

/* Queues the owner of the topology key of a Service's owner that has changed, if it has or wants
 * one. */
void reconciler_look_at_topology(struct reconciler *r, struct slice id);

/* Queues the owner of its names in the external zone, if it has or wants any. */
void reconciler_look_at_external(struct reconciler *r, struct slice id);

/* Returns the id of that owner, borrowed until the next call; empty: no key can be its. */
struct slice reconciler_topology_of(struct reconciler *r, struct slice id);

/* ---- reconciler_config.c ---- */

/* Returns whether the ConfigMap's keys and document are ours, not another writer's. */
bool reconciler_has_config(const struct reconciler *r);

/* Notes a put of a KEY_BESIDE. */
void reconciler_config_put(struct key_source *source, const struct etcd_kv *kv);
void reconciler_config_delete(struct key_source *source, struct slice key, int64_t revision);

/* Handle the events of the document's mirror. */
void reconciler_config_on_put(void *source, const struct etcd_kv *kv);
void reconciler_config_on_del(void *source, struct slice key, int64_t revision);

/* Ends a full read of the mirror. */
void reconciler_config_end_read(struct key_source *source);

/* Returns whether both the wanted keys and etcd's are known. */
bool reconciler_knows_config(const struct reconciler *r);

/* Do the same as reconciler_clients_are_pending and reconciler_explain_clients. */
bool reconciler_config_is_pending(const struct reconciler *r);
bool reconciler_explain_config(const struct reconciler *r, struct buf *out);

/* ---- reconciler_mirror.c ---- */

/* Queues the owner, since the mirror shows a change of one of its keys; NULL: the key has no
 * owner. */
void reconciler_owner_touched(struct key_source *source, struct owner *owner, int64_t revision);

/* Queues the owner after a change of its wishes, or of its keys, whose revision is unknown. */
void reconciler_want_another_look(struct reconciler *r, struct owner *owner);

void reconciler_follow(struct reconciler *r);
void reconciler_unfollow(struct reconciler *r);

/* Returns the revision that last wrote the key; 0: absent. */
int64_t reconciler_key_revision(const void *data, struct slice key);

/* Makes unclaimed reverse keys of ours owners, if that is due and all claims are known. */
void reconciler_find_orphans(struct reconciler *r);

/* ---- reconciler_report.c ---- */

void sync_report_init(struct sync_report *report, struct ev_loop *loop);
/* Writes the pending line. */
void sync_report_fini(struct sync_report *report);

/* Notes after each turn whether the queue is empty. */
void sync_report_update(struct sync_report *report, bool is_in_sync);

#endif
