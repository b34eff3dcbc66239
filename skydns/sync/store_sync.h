/* Keeps the record store in step with etcd. Mirrors the keys below `/<prefix>/`, turns each into a
 * name and a record, and publishes one version for each whole revision (or batch of them) that the
 * mirror commits. Main thread, on its loop.
 *
 *     etcd_mirror --put, del, commit--> store_writer --version, garbage--> publisher --> readers
 *
 * While etcd is away, the last version is still served. After a compaction everything is read again
 * over the old version, which readers keep until the new one is complete; unchanged records are not
 * replaced. An etcd that came back empty or older removes nothing until its writer has rewritten
 * everything (etcd_mirror.h, keeps_old), or until stale_max_ms have passed. Then its domains are
 * incomplete (store_keys.h).
 *
 * Skips only the unusable key or value itself: logs it with its key and the reason, counts it, and
 * remembers it (broken.h). Its earlier record is removed, as etcd no longer has it; a good value
 * brings it back. Records below dns/stub of a domain may name stub zones, too
 * (stub_keys_internal.h). `/<prefix>/config` is SkyDNS's configuration, not a record: it is passed
 * on as is. */
#ifndef SKYDNS_SYNC_STORE_SYNC_H
#define SKYDNS_SYNC_STORE_SYNC_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/etcd/etcd_mirror.h"
#include "skydns/clients/client_index.h"
#include "skydns/clients/visibility.h"
#include "skydns/external/zone_table.h"
#include "skydns/publish/publisher.h"
#include "skydns/sync/lease.h"

struct err;
struct etcd;
struct outage_source;
struct snapshot_content;
struct snapshot_image;
struct store_sync;

/* Reasons to identify clients. */
enum client_want {
    CLIENTS_UNKNOWN,     /* nothing */
    CLIENTS_FOR_METRICS, /* counts of their queries: being ready does not wait for it, and that etcd
                          * denies reading their keys is no trouble, and not logged */
    CLIENTS_FOR_LOGS,    /* the same for logs of queries, but a denial is logged */
    CLIENTS_FOR_ANSWERS,
};

struct store_sync_config {
    struct ev_loop *loop;
    struct etcd *etcd;           /* borrowed, on the same loop */
    struct publisher *publisher; /* borrowed */
    const char *path_prefix;     /* "skydns"; slashes around it do not matter; copied */
    bool skips_wildcards;        /* keys with a label `*`: -schema=kubernetes has no wildcards */
    uint32_t default_ttl_s;      /* of values that set none; a lease bounds it, too */
    const struct dname *domains; /* lower case, borrowed for the call; at least one. The first one's
                                  * store key tells whether a store is complete */
    size_t domain_count;
    bool requires_store_key; /* a domain without one is incomplete, and the store not ready */
    int64_t stale_max_ms;    /* how long another store without one may lack keys; 0 = forever */

    /* Content of a snapshot, checked by store_sync_can_start. Its records are taken over, its
     * sections read during the call, and both are published before store_sync_start returns.
     * on_stubs, on_visible, on_completeness and on_ready may be called from inside it; the caller
     * applies the document's value before. Then etcd is asked only for what has changed since, if
     * it is the same store. NULL: etcd tells all. The same if the sections do not fit the records:
     * store_sync_is_from_snapshot is then false, and the caller logs it. */
    struct snapshot_content *start;

    /* Learns whether etcd is followed; already joined; borrowed. Failures of leases join its
     * outage. NULL: not reported. */
    struct outage_source *followed;

    /* Receives the value of `/<prefix>/config` as of a publication, if it changed; ptr NULL:
     * removed. May be NULL. */
    void (*on_config)(void *data, struct slice value);

    /* Receives the stub zones that keys name (stub_keys_internal.h), when they differ from those
     * told last; none at first; borrowed for the call. NULL: they are not wanted. */
    bool wants_stubs; /* store_sync_set_stubs changes it */
    void (*on_stubs)(void *data, const struct forward_zone *zones, size_t count);

    bool wants_gone;  /* remembers names that went (gone_names.h) */
    bool wants_marks; /* remembers when which revision was reached (revision_marks.h) */

    /* Records with external names answer for their owners (override_index.h).
     * store_sync_set_overrides changes it. */
    bool wants_overrides;
    uint32_t override_ttl_s; /* of those that set none */

    /* Identifies clients by their pods (client_index.h): fills store_sync_clients. Calls on_visible
     * with the lists of visibility.h that kube2sky writes, when they differ from those told last:
     * none at first; borrowed for the call. Needs publisher_retire. on_visible NULL: only
     * identifies. store_sync_set_clients changes it. */
    enum client_want wants_clients;
    bool wants_topology; /* and the zones of headless Services' addresses (topology.h) */
    void (*on_visible)(void *data, const struct visible_namespace *listed, size_t count);

    /* Called when store_sync_is_incomplete changes for a domain: before the version that lacks its
     * records is published, and after the one that has them. Called as well when
     * store_sync_knows_clients changes. May be NULL. */
    void (*on_completeness)(void *data);

    /* Called once, when ready. May be NULL. */
    void (*on_ready)(void *data);
    void *data;
};

struct store_sync *store_sync_start(const struct store_sync_config *config);

/* Stops and frees it; NULL is fine. Call when no reader will enter the publisher any more, since it
 * frees the published version, too; and before etcd_free. */
void store_sync_stop(struct store_sync *sync);

/* Returns true once the first whole content, read or of a snapshot, has been published and, if
 * store keys are required, every domain has had its own. Stays true. */
bool store_sync_is_ready(const struct store_sync *sync);

/* Returns true if a snapshot's revision and time, and the sections that store_sync unpacks, make
 * sense. */
bool store_sync_can_start(const struct snapshot_content *content, struct err *err) MUST_CHECK;

/* Returns true while answers come from a snapshot that etcd has not confirmed yet. ret_heard_ms:
 * when etcd was heard from, Unix time, never in the future. False once all that changed since is
 * published; stays so. */
bool store_sync_is_from_snapshot(const struct store_sync *sync, int64_t *ret_heard_ms);

/* Fills the image's header, all but the version and the schema, and the sections of what this file
 * knows. All as of the newest version, which the caller pins.
 *
 * False, and nothing useful in it, while there is nothing whole to write: before the first full
 * content; while answers come from a snapshot, or lack records whose lease it says has ended;
 * during a full read; and with a prefix of SNAPSHOT_PREFIX_MAX bytes. */
bool store_sync_save(const struct store_sync *sync, struct snapshot_image *image) MUST_CHECK;

/* Returns a number that increases whenever an image would differ from an earlier one in more than
 * its times. TTLs that count down with their leases are such times. */
uint64_t store_sync_changes(const struct store_sync *sync);

/* Returns the Unix time in ms when etcd was last heard from; 0 = never. It is now while all that
 * etcd has is published. Otherwise it is the time when the connection was lost, or a snapshot's,
 * until all is published again. A wall clock set back since then moves it back as well. */
int64_t store_sync_heard_ms(const struct store_sync *sync);

/* Returns true if etcd is known to lack records of the domain: names that are not found may exist.
 */
bool store_sync_is_incomplete(const struct store_sync *sync, const struct dname *domain);

/* Returns the domains in force, and why their store keys are expected: borrowed. */
struct store_keys;
const struct store_keys *store_sync_keys(const struct store_sync *sync);

/* Changes the domains, and whether their store keys are required. */
void store_sync_set_domains(struct store_sync *sync, const struct dname *domains, size_t count,
                            bool requires_store_key);

/* Changes whether keys may name stub zones. */
void store_sync_set_stubs(struct store_sync *sync, bool wants_stubs);

/* Changes whether keys may be overrides, and the TTL of those without one. */
void store_sync_set_overrides(struct store_sync *sync, bool wants_overrides, uint32_t ttl_s);

/* Changes whether clients are known by their pods. Turning it off forgets all that is known of them
 * and tells on_visible. Turning it on goes through the pods held at once; none identifies a client
 * until etcd has said which addresses they share with their nodes. */
void store_sync_set_clients(struct store_sync *sync, enum client_want wants, bool wants_topology);

/* Returns true if the keys about clients have been neither read nor denied yet. */
bool store_sync_awaits_clients(const struct store_sync *sync);

/* Appends the reason and returns true if etcd denies reading keys about clients, or some have no
 * room. */
bool store_sync_explain_client_keys(const struct store_sync *sync, struct buf *out);

/* Returns true if it is known who the domain's clients are and what they may see. False before etcd
 * has said which pods there are, which addresses they share with nodes and which namespaces others
 * may see: a snapshot is not enough. False while clients are not wanted. */
bool store_sync_knows_clients(const struct store_sync *sync, const struct dname *domain);

/* Returns the index that tells whose client an address is, for any thread, as of the newest
 * version. It identifies no client while they are not wanted, and stays the same as long as sync
 * runs. */
const struct client_index *store_sync_clients(const struct store_sync *sync);

/* Set the zones whose changes are noted from now on, domains and reverse zones, in lower case.
 * Return the revision of a zone's last change (zone_changes_internal.h), 0 if it is none of these.
 */
void store_sync_set_zones(struct store_sync *sync, const struct dname *apexes, size_t count);
int64_t store_sync_zone_revision(const struct store_sync *sync, const struct dname *apex);

/* Takes over when history (zone_history.h) says that the zone changed last; counts if only a read
 * says so yet. */
void store_sync_refine_zone(struct store_sync *sync, const struct dname *apex, int64_t revision);

/* Returns true if the newest version is of the etcd data set that etcd's connection leads to now.
 */
bool store_sync_is_caught_up(const struct store_sync *sync);

/* Frees, now and later, what an unpinned version (publisher.h) held. */
void store_sync_reclaim(struct store_sync *sync);

/* Changes the TTL of values that set none, also for keys with leases. */
void store_sync_set_default_ttl(struct store_sync *sync, uint32_t ttl_s);

/* Returns the newest version; NULL before the first; valid until the loop turns. */
const struct store *store_sync_store(const struct store_sync *sync);

/* Returns the prefix, "/skydns/". */
struct slice store_sync_prefix(const struct store_sync *sync);

/* Returns the latest changes that etcd's events made; borrowed, changes as the loop turns. */
struct recent_changes;
const struct recent_changes *store_sync_recent(const struct store_sync *sync);

/* Returns the names that went; NULL: they are not wanted. Borrowed. */
struct gone_names;
const struct gone_names *store_sync_gone(const struct store_sync *sync);

/* Returns when which revision was reached, of the etcd data set followed now; NULL: not wanted.
 * Borrowed. */
struct revision_marks;
const struct revision_marks *store_sync_marks(const struct store_sync *sync);

/* Returns a number that changes whenever the records may be of another etcd data set than before.
 */
uint64_t store_sync_data_set(const struct store_sync *sync);

struct broken_table;
const struct broken_table *store_sync_broken(const struct store_sync *sync);

/* Says what a key and its value are, as the records are made. */
enum store_key {
    STORE_KEY_RECORD,
    STORE_KEY_CONFIG,    /* the document of settings */
    STORE_KEY_NO_NAME,   /* skipped */
    STORE_KEY_NO_RECORD, /* its name has no record */
};

/* Says why a record with such a host counts as unusable, too (STORE_HOST_BAD). */
#define STORE_KEY_BAD_HOST \
    "the host is neither an address nor a name; only its text can be answered"

/* Reads a key of any revision. RECORD: the name and the record, borrowed from the value until
 * record_fini. NO_RECORD: the name, and why. NO_NAME: why. */
struct etcd_kv;
struct record;
enum store_key store_sync_read_key(const struct store_sync *sync, const struct etcd_kv *kv,
                                   struct dname *ret_name, struct record *ret_record,
                                   struct err *why);

struct store_sync_counts {
    size_t overrides;           /* records that are */
    size_t keys;                /* records held */
    size_t broken;              /* unusable keys remembered now (broken.h) */
    uint64_t skipped;           /* unusable keys and values since the start */
    uint64_t published;         /* versions */
    uint64_t reads;             /* full ones; a snapshot is none */
    int64_t revision;           /* of etcd, applied completely; 0 before the first whole content */
    int64_t published_revision; /* of the newest version; not every revision makes one */
    struct etcd_mirror_counts mirror;
    struct lease_counts leases;
};

struct store_sync_counts store_sync_counts(const struct store_sync *sync);

#endif
