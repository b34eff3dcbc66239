/* Explains one owner, for /explain: what the reconciler wants of one owner's keys, what etcd has of
 * them, and what keeps the two apart. Changes nothing. On the main loop; costs what planning the
 * owner does. */
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
    OWNER_KEY_PRESENT, /* as wanted */
    OWNER_KEY_MISSING,
    OWNER_KEY_DIFFERS,  /* has another value */
    OWNER_KEY_UNWANTED, /* to be deleted */
    OWNER_KEY_OTHERS,   /* somebody else's, left alone */
    OWNER_KEY_UNKNOWN,  /* etcd has not been read yet */
    OWNER_KEY_TAKEN,    /* a reverse key: the address is that of another namespace's pod */
};
enum { OWNER_KEY_STATES = 7 };

const char *owner_key_state_name(enum owner_key_state state); /* "present", ...; constant */

struct owner_key {
    struct slice key;
    struct slice value; /* wanted; empty: none is */
    int64_t revision;   /* that last wrote it; 0: absent */
    enum owner_key_state state;
};

/* A reverse name that the owner claims. Only the winner's is wanted in etcd. */
struct owner_claim {
    struct ip ip;
    struct slice key;
    struct slice host;         /* the owner's claim */
    struct slice winner_host;  /* empty: not decided yet, or nobody may have it */
    struct slice winner_owner; /* "svc/default/web" */
    bool is_won;
    int64_t revision;
    enum owner_key_state state; /* of the winner's value */
};

/* Slices are borrowed during the call. */
struct owner_visitor {
    void (*key)(void *data, const struct owner_key *key);
    void (*claim)(void *data, const struct owner_claim *claim);
    void (*dropped)(void *data, const struct naming_drop *drop);
    void (*held_back)(void *data, const struct etcd_op *op);
    void *data;
};

/* At most one of each constant reason. */
enum { OWNER_REASONS_MAX = 9 };

struct owner_report {
    bool is_known;     /* something of it has been seen, in the API or in etcd */
    const char *state; /* "settled", "queued", "held", "blocked", "contested", "refused",
                          "in flight"; constant */
    const char *reasons[OWNER_REASONS_MAX]; /* why not everything is in etcd; constants */
    size_t reason_count;
    size_t puts; /* that the next transaction has, or would have */
    size_t deletes;
    int64_t changed_ms;         /* since its objects' oldest change that was not sent; 0: none */
    bool is_contested;          /* another writer keeps changing its keys */
    unsigned restored;          /* times in a row */
    int64_t rest_ms;            /* until they are restored again; 0: at once */
    struct slice contested_key; /* one of them; borrowed until the next is restored */
    bool is_refused;            /* by etcd, alone */
    int64_t retry_ms;           /* until it is tried again */
    const char *refusal;        /* etcd's last refusal of any owner, ""; borrowed until the next */
    bool is_leading;            /* this kube2sky writes */
    const char *leader;         /* who does; "": nobody, or there is no election; borrowed */
    bool is_electing;           /* --leader-elect */
};

/* Calls the visitor for each key, claim, part left out and operation held back. */
void owner_report(struct reconciler *reconciler, struct slice owner,
                  const struct owner_visitor *visitor, struct owner_report *ret_report);

#endif
