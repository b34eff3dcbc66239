/* Bounds the TTL of records whose keys have a lease: the value's TTL or what the lease has left,
 * whichever is smaller, at least 1 s. Part of store_sync; main thread, its loop.
 *
 *     store_sync --put, del--> lease_table --new TTLs--> store_writer, then `changed` (publish)
 *                                   `--LeaseTimeToLive--> etcd
 *
 * Asks etcd per lease, not per key: when the lease is first seen, and again when what it has left
 * falls to the smallest TTL of its keys, at most once per third of the granted TTL. So a lease that
 * is kept alive is found renewed before its keys' TTLs shrink, or at every third if they exceed the
 * lease's. An abandoned lease counts down with the clock.
 *
 * The answering code is not involved. When a TTL must shrink, the record is published again, once a
 * second for each key of a lease that runs out; other keys cost nothing. Until etcd's first answer,
 * and while etcd is away and the lease may have ended, the TTL is 1 s; an outage source (outage.h)
 * reports both. Holds one entry per leased record of the record store. */
#ifndef SKYDNS_SYNC_LEASE_H
#define SKYDNS_SYNC_LEASE_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "skydns/records/store.h"

struct buf;
struct etcd;
struct lease_table;
struct outage_source;

struct lease_table_config {
    struct ev_loop *loop;
    struct etcd *etcd;           /* borrowed, on the same loop */
    struct store_writer *writer; /* borrowed */
    uint32_t default_ttl_s;      /* of values that set none */
    /* Learns whether etcd answers; borrowed, joined. NULL: not reported. */
    struct outage_source *asking;

    /* Called from the loop when TTLs changed in the writer: commit and publish. */
    void (*changed)(void *data);
    void *data;
};

struct lease_table *lease_table_new(const struct lease_table_config *config);
void lease_table_free(struct lease_table *table); /* NULL is fine */

/* Notes that a key was put; lease 0 = none. Returns the TTL for its record; ttl_s (and the result)
 * 0: the value sets none. */
uint32_t lease_table_put(struct lease_table *table, const struct dname *name, int64_t lease,
                         int64_t mod_revision, uint32_t ttl_s);

void lease_table_del(struct lease_table *table, const struct dname *name);

/* Changes the TTL of values that set none. */
void lease_table_set_default_ttl(struct lease_table *table, uint32_t ttl_s);

struct lease_counts {
    size_t leases;      /* of the records held */
    size_t asking;      /* of these, etcd is being asked */
    size_t withheld;    /* withheld records, whose lease has ended as far as a snapshot knows */
    uint64_t moves;     /* records withheld or brought back since the start */
    uint64_t questions; /* asked of etcd */
    uint64_t failures;  /* of these, failed */
};

struct lease_counts lease_table_counts(const struct lease_table *table);

/* Appends all leases with what they have left at now_ms, the Unix time in ms, and their keys.
 * False, and nothing appended, while records are withheld (below). */
bool lease_table_save(const struct lease_table *table, int64_t now_ms, struct buf *out);

/* Returns true if the bytes make sense by themselves. */
bool lease_table_is_saved(struct slice saved);

/* Fills an empty table from those bytes, before the first commit; its writer has the records.
 * Leases count down from when they were saved; a clock set back since adds nothing.
 *
 * Withholds a record whose lease has ended meanwhile, or ends before etcd is back: removes it from
 * the writer and remembers it here. It comes back when etcd says that the lease was renewed, or
 * confirms the keys (lease_table_confirm). It is forgotten when the lease is gone, its key is put
 * or deleted, or all is read again.
 *
 * False: the bytes are malformed, or name a record that the writer does not have; then the table is
 * useless. */
bool lease_table_load(struct lease_table *table, int64_t now_ms, struct slice saved) MUST_CHECK;

/* Tells that everything in etcd is known. A withheld key is still there, so its lease was renewed;
 * from now on a snapshot's leases withhold nothing. Calls `changed` if a record came back. */
void lease_table_confirm(struct lease_table *table);

/* Hold and release the table: in between it changes nothing, since the writer has records that must
 * not be published (a full read in progress). Holding twice counts once. */
void lease_table_hold(struct lease_table *table);
void lease_table_release(struct lease_table *table);

#endif
