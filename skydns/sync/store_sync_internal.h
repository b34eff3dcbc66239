/* Shares the state of store_sync among its files. Main thread.
 *
 *     mirror --store_sync_put.c--> store_writer, leases, broken keys
 *            --store_sync_commit.c--> publisher, readiness, completeness
 *     snapshot <--store_sync_saved.c--> all of these */
#ifndef SKYDNS_SYNC_STORE_SYNC_INTERNAL_H
#define SKYDNS_SYNC_STORE_SYNC_INTERNAL_H

#include <stdbool.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/outage.h"
#include "common/base/slice.h"
#include "skydns/sync/broken.h"
#include "skydns/sync/clients_internal.h"
#include "skydns/sync/domain_check_internal.h"
#include "skydns/sync/gone_names.h"
#include "skydns/sync/lease.h"
#include "skydns/sync/override_index.h"
#include "skydns/sync/recent_changes.h"
#include "skydns/sync/revision_marks.h"
#include "skydns/sync/store_keys.h"
#include "skydns/sync/store_sync.h"
#include "skydns/sync/stub_keys_internal.h"
#include "skydns/sync/zone_changes_internal.h"

/* Value of SkyDNS's configuration, `/<prefix>/config`, as the mirror's current, uncommitted
 * sequence has it, and whether it has been told. Part of store_sync; main thread. */
struct config_value {
    struct buf text; /* one byte over CONFIG_DOCUMENT_MAX, so that an oversized one shows */
    bool is_there;
    bool is_read; /* in the current full read */
    bool is_changed;
};

/* Makes an unknown value: the first full read tells it in any case. */
void config_value_init(struct config_value *value);
void config_value_fini(struct config_value *value);

void config_value_put(struct config_value *value, struct slice text);
void config_value_del(struct config_value *value);

/* Enclose a full read: its end removes what was not put since the beginning. */
void config_value_begin_read(struct config_value *value);
void config_value_end_read(struct config_value *value);

/* Takes the change since the last call; false: none. *ret_text is borrowed until the next change
 * and counts as told; ptr NULL: there is no value. */
bool config_value_take_change(struct config_value *value, struct slice *ret_text);

/* Save and load: appends the value; takes it from there, as told. An empty one counts as none: it
 * sets nothing. */
void config_value_save(const struct config_value *value, struct buf *out);
bool config_value_is_saved(struct slice saved);
void config_value_load(struct config_value *value, struct slice saved);

struct snapshot_header;

/* Bytes of a store key's value that are compared; kube2sky's have 32. */
enum { SEEN_ID_MAX = 64 };

/* Time when etcd was last heard from. */
struct heard {
    bool is_now;
    int64_t wall_ms; /* Unix time when it last was; 0 = never */
    int64_t monotonic_ms;
};

struct store_sync {
    struct store_sync_config config; /* what may change is as set last; the domains are in `keys` */

    struct etcd_mirror *mirror;
    struct store_writer *writer;
    struct lease_table *leases;
    struct outage_source leases_asked; /* joined if config.followed is set */
    struct broken_table *broken;
    struct stub_keys *stubs; /* NULL: not wanted */
    struct clients *clients;
    struct override_index *overrides;
    bool is_committing;   /* a version is about to be published */
    uint64_t lease_moves; /* as of the last version */
    struct store_keys *keys;
    struct dname main_domain; /* whose store key the mirror follows */
    struct domain_check domain_check;
    struct zone_changes zones;
    struct recent_changes recent;
    struct gone_names *gone;      /* NULL: not wanted */
    struct revision_marks *marks; /* NULL: likewise */
    uint64_t data_set;            /* counts those that may be others */
    ev_timer seen; /* runs while threads are inside a version older than the newest */
    struct config_value document;
    ev_timer reclaim; /* runs while garbage waits */
    ev_timer trim;    /* runs once after a full read or a start, when what they took is freed */
    char *prefix;     /* "/skydns/" */
    char *config_key; /* "/skydns/config" */

    const struct store *published; /* the newest version; NULL before the first */
    bool is_ready;
    bool has_content;             /* the published version is a whole one */
    bool has_read;                /* so was one that etcd told */
    bool is_reading;              /* a full read has begun and is not committed */
    struct etcd_mirror_read read; /* the current one, without its reason */
    uint64_t skipped_before_read; /* `skipped` when it began */
    struct store_sync_counts counts;

    bool is_from_snapshot; /* not confirmed yet */
    bool was_caught_up;    /* in this process */
    struct heard heard;
    uint64_t changes;
    struct buf seen_id; /* the store key's value as last seen; its beginning, if it is long */
};

/* Copies the domains in force; returns how many. */
size_t store_sync_domains(const struct store_sync *sync,
                          struct dname ret_domains[ENGINE_ZONES_MAX]);

/* ---- store_sync_put.c ---- */

/* Callbacks of the mirror: a key's value goes into the writer, or is noted as broken. */
void store_sync_on_put(void *data, const struct etcd_kv *kv);
void store_sync_on_del(void *data, struct slice key, int64_t revision);

/* ---- store_sync_commit.c ---- */

/* Callbacks of the mirror. */
void store_sync_on_full_begin(void *data, const struct etcd_mirror_read *read);
void store_sync_on_commit(void *data, int64_t revision, bool full);
void store_sync_on_state(void *data, const struct err *err);
void store_sync_on_caught_up(void *data);
void store_sync_on_store_key_state(void *data, const struct err *err);
void store_sync_on_store_key_seen(void *data, struct slice id, bool has_read);

/* Called by store_keys: when store_keys_is_missing may have changed; and when an expected key of
 * another domain is there. The latter reads the records again, to have all that was written before
 * the key. */
void store_sync_keys_changed(struct store_sync *sync);
void store_sync_key_appeared(struct store_sync *sync);

/* Called by lease_table when TTLs have changed. */
void store_sync_on_ttls_changed(void *data);

/* Called by the clients' index: when a domain's clients become known or unknown; and when replaced
 * content waits to be reclaimed. */
void store_sync_on_clients_known(void *data);
void store_sync_on_clients_changed(void *data);

/* Notes which versions all threads see by now. */
void store_sync_see(struct store_sync *sync);

/* Publishes what the writer has built, if it differs. */
void store_sync_publish(struct store_sync *sync, int64_t revision);

/* Decides which domains are incomplete; only_worse: none becomes complete. */
void store_sync_settle(struct store_sync *sync, bool only_worse);

/* Becomes ready if there is a whole content and no store key is awaited. */
void store_sync_become_ready(struct store_sync *sync);

/* ---- store_sync_saved.c ---- */

/* Fills the parts, new and with the content's writer, from its sections. Returns false if they make
 * no sense together, and the parts are useless. */
bool store_sync_load(struct store_sync *sync, const struct snapshot_content *content) MUST_CHECK;

/* Answers from what was loaded, and starts the mirror. */
void store_sync_begin_loaded(struct store_sync *sync, const struct snapshot_header *header);

/* Tell that etcd is heard from, from now on; and that the connection to it is lost. */
void store_sync_hear(struct store_sync *sync);
void store_sync_lose(struct store_sync *sync);

#endif
