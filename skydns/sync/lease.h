/* The TTL of records whose keys have a lease: the smaller of what the value says and what the lease
 * has left, at least 1 s. Part of store_sync; main thread, its loop.
 *
 *     store_sync --put, del--> lease_table --new TTLs--> store_writer, then `changed` (publish)
 *                                   `--LeaseTimeToLive--> etcd
 *
 * etcd is asked for each lease, not for each key: when it is first seen, and again when what it has
 * left comes down to the smallest TTL of its keys, at most once in a third of the granted TTL. So a
 * lease that somebody keeps alive is found renewed before its keys' TTLs shrink (or, when they are
 * longer than the lease, at every third), and one that nobody does counts down with the clock.
 *
 * The answer knows nothing of all this: where a TTL must shrink, the record is published again with
 * it, once a second for each key of a lease that runs out; the others cost nothing. Until etcd has
 * answered the first time, and while it is away and the lease may have ended, the TTL is 1 s; an
 * outage source (outage.h) is told of both. What is held is one entry for each leased record of the
 * store. */
#ifndef SKYDNS_SYNC_LEASE_H
#define SKYDNS_SYNC_LEASE_H

#include <ev.h>
#include <stddef.h>
#include <stdint.h>

#include "common/dns/dname.h"
#include "skydns/store/store.h"

struct etcd;
struct lease_table;
struct outage_source;

struct lease_table_config {
    struct ev_loop *loop;
    struct etcd *etcd;           /* borrowed, on the same loop */
    struct store_writer *writer; /* borrowed */
    uint32_t default_ttl_s;      /* of values that set none */
    /* Told whether etcd answers; borrowed, joined. NULL: nobody asks. */
    struct outage_source *asking;

    /* Records in the writer have other TTLs: commit and publish. From the loop. */
    void (*changed)(void *data);
    void *data;
};

struct lease_table *lease_table_new(const struct lease_table_config *config);
void lease_table_free(struct lease_table *table); /* NULL is fine */

/* A key was put; lease 0 = none. Returns the TTL to put into its record; ttl_s (and the result) 0:
 * the value sets none. */
uint32_t lease_table_put(struct lease_table *table, const struct dname *name, int64_t lease,
                         int64_t mod_revision, uint32_t ttl_s);

void lease_table_del(struct lease_table *table, const struct dname *name);

/* Values that set no TTL have another one from now on. */
void lease_table_set_default_ttl(struct lease_table *table, uint32_t ttl_s);

struct lease_counts {
    size_t leases;      /* of the records held */
    size_t asking;      /* of these, etcd is being asked */
    uint64_t questions; /* asked of etcd */
    uint64_t failures;  /* of these, without an answer */
};

struct lease_counts lease_table_counts(const struct lease_table *table);

/* Between them the writer holds what must not be published (a full read under way), so nothing is
 * changed. Holding twice is holding once. */
void lease_table_hold(struct lease_table *table);
void lease_table_release(struct lease_table *table);

#endif
