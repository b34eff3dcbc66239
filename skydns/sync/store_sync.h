/* Keeps the store saying what etcd says: mirrors the keys below `/<prefix>/`, turns each into a
 * name and a record, and publishes one version for each whole revision (or batch of them) that the
 * mirror commits. Main thread; lives on its loop.
 *
 *     etcd_mirror --put, del, commit--> store_writer --version, garbage--> snapshot --> readers
 *
 * While etcd is away the last version goes on being served. After a compaction everything is read
 * again over the old version, which readers keep until the new one is complete; what did not change
 * is not replaced. An etcd that came back empty or older takes nothing away before its writer has
 * written everything again (etcd_mirror.h, keeps_old).
 *
 * A key or value that cannot be understood is skipped alone: logged with its key and the reason,
 * counted, and remembered (broken.h). A record it had before goes (the store says what etcd says);
 * a good value brings it back.
 * `/<prefix>/config` is SkyDNS's configuration, no record: handed on as it is. */
#ifndef SKYDNS_SYNC_STORE_SYNC_H
#define SKYDNS_SYNC_STORE_SYNC_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/etcd/etcd_mirror.h"
#include "skydns/store/snapshot.h"
#include "skydns/sync/lease.h"

struct etcd;
struct outage_source;
struct store_sync;

/* Of SkyDNS's configuration: a page at most; 64 KiB is what any value may have. A longer one is
 * handed on cut to one byte more. */
enum { STORE_SYNC_CONFIG_MAX = 65536 };

struct store_sync_config {
    struct ev_loop *loop;
    struct etcd *etcd;         /* borrowed, on the same loop */
    struct snapshot *snapshot; /* borrowed */
    const char *path_prefix;   /* "skydns"; slashes around it do not matter; copied */
    uint32_t default_ttl_s;    /* of values that set none; bounded by a lease as the others are */
    const char *domain;        /* "cluster.local.", lower case: the one whose store key is read */
    int64_t stale_max_ms;      /* how long another store without one may lack keys; 0 = for ever */

    /* Told whether etcd is followed; joined already; borrowed. What is wrong with leases joins its
     * outage. NULL: nobody asks. */
    struct outage_source *followed;

    /* The value of `/<prefix>/config` as of a publication, when it changed; ptr NULL: it is gone.
     * May be NULL. */
    void (*on_config)(void *data, struct slice value);

    /* Once, when the first full content has been published. May be NULL. */
    void (*on_ready)(void *data);
    void *data;
};

struct store_sync *store_sync_start(const struct store_sync_config *config);

/* When no reader will enter the snapshot any more: the published version goes, too. Before
 * etcd_free. NULL is fine. */
void store_sync_stop(struct store_sync *sync);

/* The first full content has been published. Stays true. */
bool store_sync_is_ready(const struct store_sync *sync);

/* What values that set no TTL have changed; leases count with the new one. */
void store_sync_set_default_ttl(struct store_sync *sync, uint32_t ttl_s);

/* The newest version; NULL before the first; good until the loop turns. */
const struct store *store_sync_store(const struct store_sync *sync);

/* "/skydns/" */
struct slice store_sync_prefix(const struct store_sync *sync);

struct broken_table;
const struct broken_table *store_sync_broken(const struct store_sync *sync);

struct store_sync_counts {
    size_t keys;        /* records held */
    size_t broken;      /* keys remembered as such now (broken.h) */
    uint64_t skipped;   /* keys and values that could not be understood, since the start */
    uint64_t published; /* versions */
    uint64_t reads;     /* full ones */
    int64_t revision;   /* of etcd, up to which everything is in; 0 before the first full content */
    int64_t
        published_revision; /* of the newest version; revisions that change no record make none */
    struct etcd_mirror_counts mirror;
    struct lease_counts leases;
};

struct store_sync_counts store_sync_counts(const struct store_sync *sync);

#endif
