/* Makes etcd match the inventory: compares the desired keys (naming) with the actual ones (an
 * etcd_mirror of our keys), owner by owner, and writes the difference in transactions. On the main
 * loop; nothing blocks, and failures are retried.
 *
 *     inventory changed ─┐                                      ┌─▶ nothing to do: settled
 *     mirror changed ────┴─▶ queue ─▶ desired ─ actual = plan ──┤
 *            ▲                                                  └─▶ transaction (transactions.c)
 *            └───────────────────────── its events ◀───────────────────────┘
 *
 * The mirror is the only source of truth. A transaction has landed when it is acknowledged and the
 * mirror has reached its revision; until then its owners are not planned again. Keys that another
 * writer deletes or overwrites are restored the same way; less often if that writer keeps doing it
 * (conflict_internal.h). A failed transaction puts its owners back into the queue. Owners of a
 * refused one are sent one by one. One that etcd refuses alone backs off by itself
 * (refusal_internal.h), so that it does not delay the others.
 *
 * When etcd comes back with another data set, empty or older, everything starts over: no old
 * content is assumed, and missing keys are written. A data set without a store key gets one when
 * everything is in it for the first time (etcd_mirror.h).
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
#include "kube2sky/naming/inventory.h"
#include "kube2sky/naming/naming.h"

struct etcd;
struct cause_object;
struct client_keys;
struct config_map;
struct event_queue;
struct flaw_list;
struct external_aliases;
struct external_keys;
struct override_zones;
struct plan;
struct outage;
struct outage_source;
struct reconciler;
struct slice_change;

struct reconciler_config {
    struct ev_loop *loop;
    struct etcd *etcd; /* outlives the reconciler, as do the inventories and the outage */
    const struct inventory *inventory;
    const struct inventory *imports; /* NULL: there are none, nor a multicluster domain */
    struct outage *outage;           /* etcd's outage; gets `followed` and failed transactions */
    struct flaw_list *flaws;    /* gets objects that have no keys; outlives it; NULL: not wanted */
    struct event_queue *events; /* gets faults of Services, Ingresses and routes; likewise */
    const char *domain;         /* "cluster.local.", lower case, with the dot; borrowed for its
                                 * lifetime */
    const char *import_domain;  /* "clusterset.local.", likewise; NULL without imports */
    uint32_t ttl_s;             /* of the records */
    enum endpoint_names endpoint_names;
    size_t txn_ops_max;        /* operations in one transaction, at least 2 */
    uint64_t etcd_space_bytes; /* etcd's quota, which namespaces share; 0: without limit */
    uint32_t owner_keys_max;   /* per owner; 0: DESIRED_MAX */
    uint64_t ns_keys_max;      /* per namespace; 0: without limit */

    /* Select the keys that it owns: ownership_internal.h. */
    const char *const *namespaces; /* borrowed for its lifetime */
    size_t namespace_count;        /* 0 = all */
    bool own_only_written;
    bool has_nodes;    /* --nodes is set: the inventory has nodes */
    bool no_reverse;   /* desires no reverse keys and deletes ours */
    bool has_topology; /* --topology is set: else desires no topology keys and deletes them */

    int64_t leader_lease_s; /* it is one of several writers (leader_internal.h); 0: the only one */

    /* Tells the keys about clients, which are written as it wants; NULL: they are left alone. It
     * outlives the reconciler, which looks for changes in each turn of the loop. */
    struct client_keys *client_keys;

    /* Zones in which external names are written; NULL: none. Outlives the reconciler. */
    const struct override_zones *zones;

    /* The zone for Services' external addresses. */
    struct external_zone external;

    /* Returns the object whose event is being handled, borrowed; NULL: none. May be NULL: not
     * known. */
    const struct cause_object *(*cause)(const void *data);
    const void *cause_data;

    bool has_config_map; /* reconciler_want_config will be called */
    bool leaves_config;  /* another writer has the ConfigMap's keys */

    /* Gets each non-empty plan once everything is known, borrowed; then nothing is written. NULL:
     * plans are executed. */
    void (*planned)(void *data, const struct plan *plan);
    void *data;
};

/* Starts the reconciler. Call it before the inventory gets its first object: it learns of objects
 * through reconciler_owner_changed. */
struct reconciler *reconciler_start(const struct reconciler_config *config);

/* Frees all. Transactions in flight are forgotten, not undone. NULL is fine. */
void reconciler_stop(struct reconciler *reconciler);

/* Notes that the owner's objects changed: inventory's callback. */
void reconciler_owner_changed(struct reconciler *reconciler, struct slice owner);

/* Does the same for a slice's change that can be named by itself; borrowed. */
void reconciler_slice_changed(struct reconciler *reconciler, struct slice owner,
                              const struct slice_change *change);

/* Notes when the owner's last reported change happened, in Unix time: inventory's callback. From
 * then to etcd's acknowledgement is its programming time. Of several changes that one transaction
 * writes, the first with such a time counts. */
void reconciler_note_trigger(struct reconciler *reconciler, struct slice owner,
                             enum inventory_trigger trigger, int64_t since_us);

/* Notes that the owner's last reported change comes from the event that is being handled, for
 * reconciler_cause. Owners of external names and of the ConfigMap are noted without it. */
void reconciler_note_cause(struct reconciler *reconciler, struct slice owner);

/* Returns what caused the owner's latest changes, the latest first; NULL past the oldest that is
 * remembered (causes.h). Borrowed. */
const struct cause *reconciler_cause(const struct reconciler *reconciler, struct slice owner,
                                     size_t back);

/* reconciler_want_config takes over the map's content. Until it is called, the map's keys stay as
 * they are, and the reconciler is not in sync. reconciler_lack_config says that the map cannot be
 * read, or is refused: then nothing waits for it. Without has_config_map no keys are wanted. */
void reconciler_want_config(struct reconciler *reconciler, struct config_map *map);
void reconciler_lack_config(struct reconciler *reconciler);

/* Returns whether this process may write: with leader_lease_s, only one of several does. */
bool reconciler_is_leading(const struct reconciler *reconciler);

/* Returns true once everything was in etcd for the first time. */
bool reconciler_has_synced(const struct reconciler *reconciler);

/* Appends, as one line, the work that is left before it is in sync. Doubt about an object does not
 * count. */
void reconciler_explain(const struct reconciler *reconciler, struct buf *out);

/* Appends, for /readiness?strict, what keeps failing although etcd works, as one line without
 * newline. Returns false, appending nothing, if there is no such trouble. */
bool reconciler_explain_trouble(const struct reconciler *reconciler, struct buf *out);

/* Returns whether etcd has all keys of this Service, "default/web", and of its external names, as
 * the inventory wants them, written by any process, and nothing else of them. False: appends what
 * they wait for, unless `why` is NULL. ret_revision: etcd has them so since then or earlier; 0: no
 * key has been written yet. It is that of a change of records, so that readers of these reach it.
 * What another process deleted before this one read etcd may be later. */
bool reconciler_has_written(const struct reconciler *reconciler, struct slice service,
                            int64_t *ret_revision, struct buf *why);

/* Visit, for pages, the ids of owners with work waiting or in flight, and the plan of one, as lines
 * of plan.h; an owner that is gone has none. The ids of a million owners at once would block the
 * loop: they come in parts, each well below a millisecond. The struct is zeroed at first. Owners
 * that change between two parts may be missing. */
struct unsettled_place {
    size_t at;
    size_t slots; /* of the table of owners */
};

enum unsettled_part {
    UNSETTLED_MORE,
    UNSETTLED_LAST,
    UNSETTLED_ANEW, /* the table has grown: the next part is the first again */
};

enum unsettled_part reconciler_each_unsettled(struct reconciler *reconciler,
                                              struct unsettled_place *place,
                                              void (*fn)(void *data, struct slice owner),
                                              void *data);
void reconciler_preview(struct reconciler *reconciler, struct slice owner, struct buf *out);

/* Drains for an orderly shutdown: calls done(data), once and not from inside this call, when no
 * transaction is in flight and none can be sent. The queue is then empty, or etcd is away. */
void reconciler_drain(struct reconciler *reconciler, void (*done)(void *data), void *data);

/* Figures of etcd's space (etcd_space_internal.h). */
struct etcd_space_figures {
    bool is_exhausted;     /* etcd refuses writes for want of space */
    bool is_known;         /* the sizes are known; else both are 0 */
    bool is_short;         /* above 80 % of etcd_space_bytes */
    uint64_t file_bytes;   /* the database, as etcd's quota counts it */
    uint64_t in_use_bytes; /* of file_bytes */
};

/* A page shows 20. The id of a usual Service has some 40 bytes, and longer ones are cut. All
 * entries take 20 KB. */
enum { CHANGES_KEPT = 64, CHANGE_OWNER_MAX = 255 };

struct change {
    char owner[CHANGE_OWNER_MAX + 1]; /* "svc/default/web" */
    int64_t time_ms;                  /* Unix time of etcd's confirmation */
    int64_t revision;                 /* of the transaction; for a large plan, of its last one */
    size_t puts;                      /* in that transaction */
    size_t deletes;
    int64_t api_to_plan_us;  /* from the event to the planned transaction; -1: no object changed,
                              * another writer had changed the keys */
    int64_t plan_to_etcd_us; /* from there to the confirmation */
};

/* Holds the latest changes that etcd confirmed, with their times since the API's event, for pages.
 */
struct change_ring {
    struct change items[CHANGES_KEPT];
    uint64_t count; /* since the process started */
};

/* Returns the next entry with its owner set. It replaces the oldest when the ring is full. */
struct change *change_ring_add(struct change_ring *ring, struct slice owner);

/* Returns the latest change for back 0, the one before for 1, and so on; NULL past the oldest. */
const struct change *change_ring_get(const struct change_ring *ring, size_t back);

/* CoreDNS's buckets of the same metric: 20 from 1 ms on, each twice the one before. */
extern const struct histogram_scale reconciler_programming_scale;

struct reconciler_stats {
    /* Since the process started */
    uint64_t reads; /* full reads of the mirror */
    uint64_t keys_written;
    uint64_t keys_deleted;
    uint64_t keys_restored;     /* of both: another writer had changed, deleted or added them */
    uint64_t transaction_count; /* acknowledged */
    uint64_t failures;          /* transactions refused, or without a response even to the check */
    uint64_t conflict_count;    /* transactions whose conditions failed */
    uint64_t dropped; /* counts parts of objects that cannot be in a key, each time one is found */
    const struct histogram *transaction_time; /* from sending to acknowledgement; borrowed */
    const struct histogram *plan_time;        /* from an object's change to sending */
    const struct histogram *change_time;      /* from an object's change to the acknowledgement */
    /* From what reconciler_note_trigger said to the acknowledgement; INVENTORY_TRIGGERS of them,
     * with reconciler_programming_scale; borrowed */
    const struct histogram *programming_time;
    const struct change_ring *changes; /* the latest ones; borrowed */

    /* Now */
    int64_t revision;       /* the mirror's */
    uint64_t desired;       /* keys */
    uint64_t actual;        /* keys, including others' */
    uint64_t others;        /* desired reverse keys that belong to other writers */
    uint64_t external;      /* desired keys in the external zone */
    uint64_t alias_left;    /* claimed external names that others have: objects, or writers */
    size_t reverse_refused; /* addresses that only namespaces claim whose pods do not have them */
    size_t config_keys;     /* written because of the ConfigMap */
    size_t config_left;     /* keys that it wants and that belong to other writers */
    size_t node_addresses;  /* node address keys in etcd (client_keys.h) */
    size_t visible;         /* visibility keys in etcd: namespaces that others can see */
    size_t client_records;  /* in etcd (client_records_internal.h) */
    size_t topology;        /* topology keys in etcd (topology_value.h) */
    bool is_leading;        /* may write; always true without leader_lease_s */
    size_t over_share;      /* namespaces whose additions wait for a compaction of etcd */
    struct etcd_space_figures space;
    size_t contested;    /* owners whose keys another writer keeps changing: conflict_internal.h */
    uint64_t too_large;  /* counts owners with more records than allowed: their keys are
                          * unchanged */
    size_t lacking;      /* owners whose new keys wait, since their namespaces have no room */
    size_t full;         /* namespaces without room */
    size_t waiting;      /* owners in the queue, held with withheld deletes, or backing off */
    size_t owners;       /* known ones */
    size_t held;         /* waiting owners of whose plans nothing may be written yet */
    size_t refused;      /* owners that etcd refuses alone: they wait, or are tried again */
    const char *leader;  /* the writer's name, with leader_lease_s; "": nobody leads, or no
                          * election. Borrowed */
    size_t in_flight;    /* owners in transactions */
    size_t transactions; /* transactions */
    struct etcd_mirror_counts mirror;
};
struct reconciler_stats reconciler_get_stats(const struct reconciler *reconciler);

/* Returns the claims on external names, for pages and for Ingresses and routes (NULL:
 * --override-zones is not set); and etcd's keys with such names. Borrowed. */
struct external_aliases *reconciler_aliases(const struct reconciler *reconciler);
const struct external_keys *reconciler_external_keys(const struct reconciler *reconciler);

/* Returns the outage's source, which tells whether etcd is followed. Borrowed. */
const struct outage_source *reconciler_followed(const struct reconciler *reconciler);

#endif
