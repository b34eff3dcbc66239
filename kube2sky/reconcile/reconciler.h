/* Makes etcd match the inventory: compares the desired keys (naming) with the actual ones (an
 * etcd_mirror of our keys), owner by owner, and writes the difference in transactions. On the main
 * loop; nothing blocks, and failures are retried.
 *
 *     inventory changed ─┐                                      ┌─▶ nothing to do: settled
 *     mirror changed ────┴─▶ queue ─▶ desired ─ actual = plan ──┤
 *            ▲                                                  └─▶ transaction (transactions.c)
 *            └───────────────────────── its events ◀───────────────────────┘
 *
 * The mirror is the only source of truth: a transaction has landed when it is acknowledged and the
 * mirror has reached its revision; until then its owners are not planned again. Keys that somebody
 * else deletes or overwrites are restored the same way; less often if that other keeps doing it
 * (conflict_internal.h). A failed transaction puts its owners back
 * into the queue; the owners of a refused one are sent one by one, and one which etcd refuses alone
 * waits by itself (refusal_internal.h), so that it does not hold up the others.
 *
 * In another store (an etcd that came back empty or older) everything starts over: no old content
 * is assumed, and missing keys are written. A store without a store key gets one when everything is
 * in it for the first time (etcd_mirror.h).
 *
 * Nothing is written before the mirror has read everything once. Deletes wait until all that may
 * want their keys is known (planner_internal.h); additions do not. */
#ifndef KUBE2SKY_RECONCILE_RECONCILER_H
#define KUBE2SKY_RECONCILE_RECONCILER_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/metrics.h"
#include "common/base/slice.h"
#include "common/etcd/etcd_mirror.h"
#include "kube2sky/naming/naming.h"

struct etcd;
struct change_ring;
struct client_keys;
struct config_map;
struct flaw_list;
struct external_aliases;
struct external_keys;
struct inventory;
struct override_zones;
struct plan;
struct outage;
struct outage_source;
struct reconciler;
struct slice_change;

struct reconciler_config {
    struct ev_loop *loop;
    struct etcd *etcd; /* outlives the reconciler, as do the inventory and the outage */
    const struct inventory *inventory;
    struct outage *outage;   /* etcd's; gets `followed` and failed transactions */
    struct flaw_list *flaws; /* gets what has no keys; outlives it; NULL: not wanted */
    const char *domain;      /* "cluster.local.", lower case, with the dot; borrowed for good */
    uint32_t ttl_s;          /* of the records */
    enum endpoint_names endpoint_names;
    size_t txn_ops_max;        /* operations in one transaction, at least 2 */
    uint64_t etcd_space_bytes; /* etcd's quota, which namespaces share; 0: without limit */
    uint32_t owner_keys_max;   /* of an owner; 0: DESIRED_MAX */
    uint64_t ns_keys_max;      /* of a namespace; 0: without limit */

    /* Which keys it owns: ownership_internal.h. */
    const char *const *namespaces; /* borrowed for good */
    size_t namespace_count;        /* 0 = all */
    bool own_only_written;
    bool has_nodes;  /* --nodes: the inventory has them */
    bool no_reverse; /* desires no reverse keys and deletes ours */

    int64_t leader_lease_s; /* one of several writers (leader_internal.h); 0: the only one */

    /* What readers know clients by, written as it wants; NULL: left alone. Outlives the reconciler,
     * which looks for changes in each turn of the loop. */
    struct client_keys *client_keys;

    /* Where external names are written; NULL: nowhere. Outlives the reconciler. */
    const struct override_zones *zones;

    bool has_config_map; /* reconciler_want_config will be called */
    bool leaves_config;  /* what a ConfigMap asks for is another writer's */

    /* NULL: plans are executed. Else nothing is written: once everything is known, it gets each
     * non-empty plan; borrowed. */
    void (*planned)(void *data, const struct plan *plan);
    void *data;
};

/* Call it before the inventory gets its first object: it learns of objects through
 * reconciler_owner_changed. */
struct reconciler *reconciler_start(const struct reconciler_config *config);

/* Transactions in flight are forgotten, not undone. NULL is fine. */
void reconciler_stop(struct reconciler *reconciler);

/* The owner's objects changed: inventory's callback. */
void reconciler_owner_changed(struct reconciler *reconciler, struct slice owner);

/* The same, for a slice's change that can be named by itself; borrowed. */
void reconciler_slice_changed(struct reconciler *reconciler, struct slice owner,
                              const struct slice_change *change);

/* What the ConfigMap asks for; its content is taken over. Until then its keys stay as they are, and
 * the reconciler is not in sync, unless told that the map is not known: it cannot be read, or is
 * refused. Without has_config_map nothing is asked for. */
void reconciler_want_config(struct reconciler *reconciler, struct config_map *map);
void reconciler_lack_config(struct reconciler *reconciler);

/* True once everything was in etcd for the first time. */
bool reconciler_has_synced(const struct reconciler *reconciler);

/* Appends what it still waits for, as one line. Doubt about an object is nothing it waits for. */
void reconciler_explain(const struct reconciler *reconciler, struct buf *out);

/* For /readiness?strict: appends what keeps going wrong although etcd works, as one line without
 * newline. False, appending nothing, if all is well. */
bool reconciler_explain_trouble(const struct reconciler *reconciler, struct buf *out);

/* For people: the ids of owners with work waiting or in flight, and the plan of one, as lines of
 * preview.h; nothing for an owner that is gone. With a million owners all ids together would hold
 * the loop up: they come in parts, each well below a millisecond. The place is zeroed at first.
 * What changes between two parts may be missing. */
struct unsettled_place {
    size_t at;
    size_t slots; /* of the table of owners */
};

enum unsettled_part {
    UNSETTLED_MORE,
    UNSETTLED_LAST,
    UNSETTLED_ANEW, /* the table has grown: the next part is the first one again */
};

enum unsettled_part reconciler_each_unsettled(struct reconciler *reconciler,
                                              struct unsettled_place *place,
                                              void (*fn)(void *data, struct slice owner),
                                              void *data);
void reconciler_preview(struct reconciler *reconciler, struct slice owner, struct buf *out);

/* For an orderly shutdown: calls done(data), once and not from inside this call, when no
 * transaction is in flight and none can be sent: the queue is empty or etcd is away. */
void reconciler_drain(struct reconciler *reconciler, void (*done)(void *data), void *data);

/* Of etcd's space (etcd_space_internal.h). */
struct etcd_space_figures {
    bool is_exhausted;     /* etcd refuses writes for that */
    bool is_known;         /* its size; else both are 0 */
    bool is_short;         /* beyond 80 % of etcd_space_bytes */
    uint64_t file_bytes;   /* the database, as etcd's quota counts it */
    uint64_t in_use_bytes; /* of that */
};

struct reconciler_stats {
    /* Since the start */
    uint64_t reads; /* full ones of the mirror */
    uint64_t keys_written;
    uint64_t keys_deleted;
    uint64_t keys_restored;     /* of both: somebody else had changed, deleted or added them */
    uint64_t transaction_count; /* acknowledged */
    uint64_t failures;          /* transactions refused, or without a reply even to the check */
    uint64_t conflict_count;    /* transactions whose conditions failed */
    uint64_t dropped; /* parts of objects that cannot be in a key, each time one is found */
    const struct histogram *transaction_time; /* from sending to acknowledgement; borrowed */
    const struct histogram *plan_time;        /* from an object's change to the sending */
    const struct histogram *change_time;      /* and to the acknowledgement */
    const struct change_ring *changes;        /* the latest ones; borrowed */

    /* Now */
    int64_t revision;        /* the mirror's */
    uint64_t desired;        /* keys */
    uint64_t actual;         /* keys, including others' */
    uint64_t others;         /* desired reverse keys that others own */
    uint64_t alias_external; /* claimed external names that others have: objects, or writers */
    size_t reverse_refused;  /* addresses that pods of others than their claimants have */
    size_t config_keys;      /* written because of the ConfigMap */
    size_t config_external;  /* keys that it asks for and others own */
    size_t node_addresses;   /* keys in etcd that say so (client_keys.h) */
    size_t visible;          /* keys in etcd of namespaces that are visible to others */
    bool is_leading;         /* may write; always true without leader_lease_s */
    size_t over_share;       /* namespaces whose additions wait for a compaction of etcd */
    struct etcd_space_figures space;
    size_t contested;    /* owners whose keys another writer keeps changing: conflict_internal.h */
    uint64_t too_large;  /* owners with more records than they may have: their keys are unchanged */
    size_t lacking;      /* owners whose new keys wait, since their namespaces have no room */
    size_t full;         /* such namespaces */
    size_t waiting;      /* owners in the queue, held with deletes that wait, or resting */
    size_t owners;       /* known ones */
    size_t held;         /* of those waiting: with nothing that may be written yet */
    size_t refused;      /* of those waiting: which etcd refuses alone */
    const char *leader;  /* who may write, with leader_lease_s; else, or nobody: "". Borrowed */
    size_t in_flight;    /* owners in transactions */
    size_t transactions; /* transactions */
    struct etcd_mirror_counts mirror;
};
struct reconciler_stats reconciler_get_stats(const struct reconciler *reconciler);

/* Who asks for external names, for pages and for claims of Ingresses and routes (NULL:
 * --override-zones is not set); and etcd's keys with such names. Borrowed. */
struct external_aliases *reconciler_aliases(const struct reconciler *reconciler);
const struct external_keys *reconciler_external_keys(const struct reconciler *reconciler);

/* Whether etcd is followed: the outage's source. Borrowed. */
const struct outage_source *reconciler_followed(const struct reconciler *reconciler);

#endif
