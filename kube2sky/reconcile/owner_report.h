/* Explains one owner, for /explain: the keys that the reconciler wants, the keys that etcd has, and
 * the reasons for the difference. Changes nothing. On the main loop; costs what planning the owner
 * does. */
#ifndef KUBE2SKY_RECONCILE_OWNER_REPORT_H
#define KUBE2SKY_RECONCILE_OWNER_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/slice.h"
#include "common/etcd/etcd_txn.h"
#include "kube2sky/naming/naming.h"

struct reconciler;

enum owner_key_state {
    OWNER_KEY_PRESENT, /* has the wanted value */
    OWNER_KEY_MISSING,
    OWNER_KEY_DIFFERS,  /* has another value */
    OWNER_KEY_UNWANTED, /* to be deleted */
    OWNER_KEY_OTHERS,   /* another writer's, left alone */
    OWNER_KEY_UNKNOWN,  /* etcd has not been read yet */
    OWNER_KEY_TAKEN,    /* a reverse key: the address belongs to a pod of another namespace */
};
enum { OWNER_KEY_STATES = 7 };

const char *owner_key_state_name(enum owner_key_state state); /* "present", ...; constant */

struct owner_key {
    struct slice key;
    struct slice value; /* the wanted value; empty: none is wanted */
    int64_t revision;   /* of the last write; 0: absent */
    enum owner_key_state state;
};

/* Describes a reverse name that the owner claims. Only the winner's is wanted in etcd. */
struct owner_claim {
    struct ip ip;
    struct slice key;
    struct slice host;         /* the owner's claim */
    struct slice winner_host;  /* empty: not decided yet, or no owner may have it */
    struct slice winner_owner; /* "svc/default/web" */
    bool is_won;
    int64_t revision;
    enum owner_key_state state; /* compared with the winner's value */
};

/* Gets the parts of the report. Slices are borrowed during the call. */
struct owner_visitor {
    void (*key)(void *data, const struct owner_key *key);
    void (*claim)(void *data, const struct owner_claim *claim);
    void (*dropped)(void *data, const struct naming_drop *drop);
    void (*held_back)(void *data, const struct etcd_op *op);
    void *data;
};

/* Limits the reasons: each constant one appears at most once. */
enum { OWNER_REASONS_MAX = 9 };

struct owner_report {
    bool is_known;     /* it has been seen, in the API or in etcd */
    const char *state; /* "settled", "queued", "held", "blocked", "contested", "refused",
                          "in flight"; constant */
    const char *reasons[OWNER_REASONS_MAX]; /* why keys are missing in etcd; constants */
    size_t reason_count;
    size_t puts; /* of the next transaction, sent or not */
    size_t deletes;
    int64_t changed_ms;         /* age of its objects' oldest change that was not sent; 0: none */
    bool is_contested;          /* another writer keeps changing its keys */
    unsigned restored;          /* restorations in a row */
    int64_t rest_ms;            /* remaining backoff before keys are restored; 0: none */
    struct slice contested_key; /* an example; borrowed until the next restoration */
    bool is_refused;            /* etcd refused a transaction of this owner alone */
    int64_t retry_ms;           /* remaining backoff */
    const char *refusal;        /* etcd's last refusal of any owner, or ""; borrowed until the
                                 * next */
    bool is_leading;            /* this kube2sky writes */
    const char *leader;         /* the writer; "": nobody, or there is no election; borrowed */
    bool is_electing;           /* --leader-elect is set */
};

/* Reports the owner: calls the visitor for each key, claim, dropped part and withheld operation. */
void owner_report(struct reconciler *reconciler, struct slice owner,
                  const struct owner_visitor *visitor, struct owner_report *ret_report);

#endif
