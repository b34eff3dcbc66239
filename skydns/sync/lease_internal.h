/* Shares the lease table's state among its files. lease.c follows leases; lease_saved.c packs and
 * unpacks them for a snapshot; lease_withheld.c remembers records whose lease has ended as far as
 * the snapshot knows. */
#ifndef SKYDNS_SYNC_LEASE_INTERNAL_H
#define SKYDNS_SYNC_LEASE_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/base/attributes.h"
#include "common/base/key_table.h"
#include "common/dns/dname.h"
#include "skydns/sync/lease.h"

#define LEASE_TTL_MAX_S INT64_C(9000000000) /* etcd grants no more */

struct lease;

struct leased_key {
    LIST_ENTRY(leased_key) sibling;
    struct lease *lease;
    struct record *withheld; /* owned, its strings too; NULL: the writer has the record */
    int64_t mod_revision;
    uint32_t ttl_s; /* as the value says; 0 = not set */
    bool is_saved;  /* from a snapshot, and not put since */
    uint8_t name_len;
    uint8_t name[];
};

struct lease {
    struct lease_table *table;
    int64_t id;
    LIST_HEAD(, leased_key) keys;
    int64_t least_ttl_ms; /* of the keys; may be too small after one is removed */
    int64_t wake_ms;      /* when it next needs work; INT64_MAX = never */

    bool is_known;
    bool is_saved;   /* known from a snapshot: etcd has not answered yet */
    bool is_gone;    /* according to etcd's last answer */
    bool has_failed; /* the last question failed */
    int64_t granted_ms;
    int64_t expires_ms; /* at the earliest */

    bool is_waiting; /* in `waiting` */
    TAILQ_ENTRY(lease) waiting_entry;
    struct etcd_call *call; /* NULL = none in flight */
    int64_t asked_ms;       /* when the last question was sent */
    int64_t ask_again_ms;   /* not earlier; INT64_MAX: only when a key is put with it */
};

struct lease_table {
    struct lease_table_config config;
    struct key_table keys;   /* struct leased_key, by name */
    struct key_table leases; /* by id */
    TAILQ_HEAD(, lease) waiting;
    struct lease_counts counts;
    size_t failed_count; /* leases with has_failed */
    int64_t probe_ms;    /* when the next of the failed ones is asked again, see lease.c */
    bool is_held;
    ev_timer run;
    int64_t run_ms;      /* when `run` fires; INT64_MAX: it is stopped */
    int64_t last_run_ms; /* when it last fired */
};

/* ---- lease.c ---- */

struct lease *lease_find(const struct lease_table *table, int64_t id); /* NULL: not held */

/* Add a lease that is not held yet, unknown and without keys; and a lease's key. Ask nothing of
 * etcd. */
struct lease *lease_add(struct lease_table *table, int64_t id);
struct leased_key *lease_key_find(const struct lease_table *table, const struct dname *name);
struct leased_key *lease_key_add(struct lease *lease, const struct dname *name);
void lease_key_set(struct leased_key *key, int64_t mod_revision, uint32_t ttl_s);

/* Brings all keys' records up to date, asks etcd if it is time, and sets when the lease needs that
 * again. Returns false if its last key is gone: then the lease is freed. */
bool lease_update(struct lease *lease, int64_t now_ms, bool *is_changed) MUST_CHECK;

void lease_wake_at(struct lease *lease, int64_t at_ms);
uint32_t lease_ttl_now(const struct lease *lease, uint32_t ttl_s, int64_t now_ms);

/* ---- lease_withheld.c ---- */

struct dname lease_key_name(const struct leased_key *key);

/* Returns the record in the writer, NULL if it has none of this revision; valid until the writer's
 * next change. */
const struct store_record *lease_key_record(const struct leased_key *key);

/* Moves the record from the writer to the key, and sets *is_changed. Returns false if the writer
 * has none of this revision. */
bool lease_withhold(struct leased_key *key, bool *is_changed) MUST_CHECK;

/* Moves the withheld record back into the writer. */
void lease_bring_back(struct leased_key *key, uint32_t ttl_s, bool *is_changed);

/* Forget withheld records, which then do not come back. */
void lease_forget_withheld(struct leased_key *key);
void lease_forget_all_withheld(struct lease_table *table);

#endif
