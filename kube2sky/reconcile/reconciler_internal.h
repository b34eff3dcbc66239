/* Shared by the reconciler's files: reconciler.c says what is to be done in each turn of the loop,
 * reconciler_send.c claims, plans and sends, reconciler_transactions.c handles what becomes of
 * transactions, reconciler_mirror.c handles etcd's events, reconciler_history.c limits what fills
 * etcd's space, reconciler_clients.c brings pods' owners and the keys about clients together,
 * reconciler_config.c is about what the ConfigMap asks for, reconciler_report.c serves pages and
 * metrics. */
#ifndef KUBE2SKY_RECONCILE_RECONCILER_INTERNAL_H
#define KUBE2SKY_RECONCILE_RECONCILER_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/backoff.h"
#include "common/base/metrics.h"
#include "common/base/outage.h"
#include "kube2sky/naming/client_keys.h"
#include "kube2sky/reconcile/change_ring.h"
#include "kube2sky/reconcile/config_keys_internal.h"
#include "kube2sky/reconcile/key_source_internal.h"
#include "kube2sky/reconcile/owners_internal.h"
#include "kube2sky/reconcile/ownership_internal.h"
#include "kube2sky/reconcile/plan.h"
#include "kube2sky/reconcile/planner_internal.h"
#include "kube2sky/reconcile/reconciler.h"
#include "kube2sky/reconcile/reverse_keys_internal.h"
#include "kube2sky/reconcile/sync_report_internal.h"
#include "kube2sky/reconcile/transactions_internal.h"

struct conflicts;
struct etcd_call;
struct etcd_space;
struct history;
struct leader;
struct refusals;
struct serial_key;

struct reconciler {
    struct reconciler_config config;
    struct leader *leader; /* NULL: the only writer */
    struct transactions *transactions;
    struct conflicts *conflicts;
    struct refusals *refusals;
    struct serial_key *serial_key;

    /* etcd's content, from the mirrors */
    struct key_source feeds[KEY_FEEDS];
    struct ownership ownership;
    struct owners *owners;
    struct config_keys config_keys;
    bool is_config_given_up; /* until it is known what the ConfigMap asks for */
    struct reverse_keys *reverse_keys;
    struct external_aliases *aliases; /* NULL: none are wanted */
    struct external_keys *external_keys;
    struct buf owner_object;       /* scratch */
    bool are_orphans_due;          /* must look for unclaimed reverse keys */
    struct outage_source followed; /* away while the watch of records is down */

    /* Sending */
    struct outage_source written;      /* away from a failed transaction to the next success */
    struct err refused[OWNER_CLASSES]; /* the last refusal of a single owner; msg "": none waits */
    struct etcd_space *space;
    struct history *history;
    ev_timer history_timer;
    struct etcd_call *history_call; /* NULL: none */
    struct backoff backoff;
    ev_timer retry; /* active while etcd is away: no transaction is sent */

    /* The work */
    ev_prepare turn;
    ev_idle stay_awake; /* active: more to plan, the loop must not sleep */
    struct planner planner;
    struct plan plan; /* of the owner last planned */
    bool was_complete;
    bool must_plan;        /* claims took all of a turn: the next one is for plans */
    uint64_t completions;  /* inventory_completions, when last looked at */
    bool has_claimed;      /* all claims were registered once */
    int64_t claims_due_us; /* monotonic: since then some were due all the time; 0: none are */
    bool may_delete_clients[CLIENT_KEYS_PARTS]; /* likewise client_keys_may_delete */
    uint64_t desired;                           /* owners' own keys */
    uint64_t others;                            /* desired reverse keys that others own */
    uint64_t alias_external;                    /* external names, likewise */
    uint64_t trimmed_at;                        /* keys deleted when memory was last given back */
    uint64_t trimmed_reads;                     /* and full reads */

    struct sync_report report;
    uint64_t transaction_count; /* acknowledged */
    uint64_t keys_restored;
    uint64_t failures;
    uint64_t conflict_count;
    struct histogram transaction_time;
    struct histogram plan_time;
    struct histogram change_time;
    struct change_ring changes;

    void (*drained)(void *data);
    void *drained_data;
};

/* Queues the owner, unless it is queued or in flight. */
void reconciler_want_look(struct reconciler *r, struct owner *owner);

bool reconciler_may_write(const struct reconciler *r);

/* Owners of records that are to be planned. */
size_t reconciler_queued(const struct reconciler *r);

/* ---- reconciler_send.c ---- */

/* Work by turns, as far as the budget of records goes. */
void reconciler_claim_some(struct reconciler *r, size_t *budget);
void reconciler_plan_some(struct reconciler *r, size_t *budget);
bool reconciler_can_plan(struct reconciler *r);

/* ---- reconciler_transactions.c ---- */

/* Sets r's flights, contests and refusals up. */
void reconciler_open_transactions(struct reconciler *r);

/* The keys in a transaction other than its owner's own. */
bool reconciler_is_reverse_key(struct slice key);

/* ---- reconciler_history.c ---- */

void reconciler_open_history(struct reconciler *r);
void reconciler_close_history(struct reconciler *r);
void reconciler_forget_history(struct reconciler *r); /* it is another store */

/* The transaction was acknowledged. */
void reconciler_charge_history(struct reconciler *r, const struct transaction *transaction);

/* The owner's namespace may only delete until etcd has been compacted. */
bool reconciler_is_over_share(const struct reconciler *r, const struct owner *owner);

/* ---- reconciler_clients.c ---- */

/* In each turn of the loop: what pods and namespaces want of the keys about clients. */
void reconciler_take_client_changes(struct reconciler *r);

/* The owner is settled: a node's address, or the pods at it, may have waited for that. */
void reconciler_tell_settled(struct reconciler *r, const struct owner *owner);

/* There is something to write of what is wanted so far, or it is not known yet whether there is.
 * What etcd refuses does not count: it would hold up everything else. */
bool reconciler_clients_are_pending(const struct reconciler *r);

/* Appends what keeps going wrong, as one line without newline; false: nothing. */
bool reconciler_explain_clients(const struct reconciler *r, struct buf *out);

/* ---- reconciler_config.c ---- */

/* Its keys and document are not another writer's. */
bool reconciler_has_config(const struct reconciler *r);

/* A key of KEY_BESIDE, or a KEY_EXTERNAL that is not ours. */
void reconciler_config_put(struct key_source *source, const struct etcd_kv *kv);
void reconciler_config_delete(struct key_source *source, struct slice key, int64_t revision);

/* The document's mirror. */
void reconciler_config_on_put(void *source, const struct etcd_kv *kv);
void reconciler_config_on_del(void *source, struct slice key, int64_t revision);

/* The feed has been read. */
void reconciler_config_end_read(struct key_source *source);

/* What is wanted and what is there are known. */
bool reconciler_knows_config(const struct reconciler *r);

/* As reconciler_clients_are_pending and reconciler_explain_clients. */
bool reconciler_config_is_pending(const struct reconciler *r);
bool reconciler_explain_config(const struct reconciler *r, struct buf *out);

/* ---- reconciler_mirror.c ---- */

/* The feed shows that a key of this owner changed; NULL: nobody's. */
void reconciler_owner_touched(struct key_source *source, struct owner *owner, int64_t revision);

/* The revision that changed what it wants, or has, is unknown. */
void reconciler_want_another_look(struct reconciler *r, struct owner *owner);

void reconciler_follow(struct reconciler *r);
void reconciler_unfollow(struct reconciler *r);

/* The revision that last wrote the key; 0: absent. */
int64_t reconciler_key_revision(const void *data, struct slice key);

/* If they are due and all claims are known: unclaimed reverse keys of ours become owners. */
void reconciler_find_orphans(struct reconciler *r);

#endif
