/* Fills the record store from a snapshot, and makes one. */
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/log.h"
#include "common/etcd/etcd_mirror.h"
#include "skydns/records/store.h"
#include "skydns/snapshot/snapshot.h"
#include "skydns/sync/client_marks_internal.h"
#include "skydns/sync/store_sync_internal.h"

/* Tolerates a wall clock that falls behind by less since etcd was last heard from: it is only being
 * adjusted. */
enum { CLOCK_ADJUSTED_MS = 60000 };

/* ---- When etcd was heard from ---- */

void store_sync_hear(struct store_sync *sync)
{
    sync->heard.is_now = true;
}

void store_sync_lose(struct store_sync *sync)
{
    if (sync->heard.is_now) {
        sync->heard =
            (struct heard){.wall_ms = clock_wall_ms(), .monotonic_ms = clock_monotonic_ms()};
    }
}

/* Takes a time in the future for a clock that was set back. */
static void hear_saved(struct heard *heard, int64_t saved_ms)
{
    int64_t now_ms = clock_wall_ms();
    heard->wall_ms = saved_ms < now_ms ? saved_ms : now_ms;
    heard->monotonic_ms = clock_monotonic_ms() - (now_ms - heard->wall_ms);
}

int64_t store_sync_heard_ms(const struct store_sync *sync)
{
    const struct heard *heard = &sync->heard;
    int64_t now_ms = clock_wall_ms();
    if (heard->is_now || heard->wall_ms == 0) {
        return heard->is_now ? now_ms : 0;
    }
    /* If the clock was set back since then, this time would be in the future, and the next start
     * would refuse it. */
    int64_t by_passing_ms = now_ms - (clock_monotonic_ms() - heard->monotonic_ms);
    return by_passing_ms + CLOCK_ADJUSTED_MS < heard->wall_ms ? by_passing_ms : heard->wall_ms;
}

bool store_sync_is_from_snapshot(const struct store_sync *sync, int64_t *ret_heard_ms)
{
    *ret_heard_ms = sync->is_from_snapshot ? store_sync_heard_ms(sync) : 0;
    return sync->is_from_snapshot;
}

/* ---- Saving ---- */

uint64_t store_sync_changes(const struct store_sync *sync)
{
    return sync->changes;
}

/* Returns the first domain in force, which may be another than the main one by now. */
static const struct dname *first_domain(const struct store_sync *sync)
{
    return store_keys_count(sync->keys) > 0 ? store_keys_domain(sync->keys, 0) : &sync->main_domain;
}

/* Saves the mirror for the next start, which follows the store key of the first domain. */
static bool save_mirror(const struct store_sync *sync, struct buf *out)
{
    if (dname_equal(first_domain(sync), &sync->main_domain)) {
        return etcd_mirror_save(sync->mirror, out);
    }
    CLEANUP_BUF struct buf saved = buf_of(out->limit);
    bool is_saved =
        etcd_mirror_save(sync->mirror, &saved) && !saved.failed &&
        etcd_mirror_saved_with_key(buf_slice(&saved), store_keys_id(sync->keys, 0), out);
    return is_saved;
}

static bool save_header(const struct store_sync *sync, struct snapshot_header *header)
{
    header->domain = *first_domain(sync);
    header->revision = sync->counts.revision;
    header->heard_ms = store_sync_heard_ms(sync);
    int n = snprintf(header->prefix, sizeof(header->prefix), "%s", sync->prefix);
    return n >= 0 && (size_t)n < sizeof(header->prefix);
}

static bool save_sections(const struct store_sync *sync, struct buf *sections)
{
    bool is_whole = save_mirror(sync, &sections[SNAPSHOT_MIRROR]) &&
                    lease_table_save(sync->leases, clock_wall_ms(), &sections[SNAPSHOT_LEASES]);
    is_whole = is_whole && clients_save(sync->clients, &sections[SNAPSHOT_CLIENTS]);
    clients_save_records(sync->clients, &sections[SNAPSHOT_CLIENT_RECORDS]);
    clients_save_topology(sync->clients, &sections[SNAPSHOT_TOPOLOGY]);
    config_value_save(&sync->document, &sections[SNAPSHOT_CONFIG]);
    store_keys_save(sync->keys, &sections[SNAPSHOT_STORE_KEYS]);
    broken_save(sync->broken, &sections[SNAPSHOT_BROKEN]);
    if (sync->marks) {
        revision_marks_save(sync->marks, &sections[SNAPSHOT_MARKS]);
    }
    for (size_t i = 0; i < SNAPSHOT_SECTIONS; i++) {
        is_whole = is_whole && !sections[i].failed;
    }
    return is_whole;
}

bool store_sync_save(const struct store_sync *sync, struct snapshot_image *image)
{
    return sync->was_caught_up && !sync->is_reading && save_header(sync, &image->header) &&
           save_sections(sync, image->sections);
}

/* ---- Starting ---- */

static struct slice store_sync_saved_section(const struct snapshot_content *content,
                                             enum snapshot_section which)
{
    return buf_slice(&content->sections[which]);
}

bool store_sync_can_start(const struct snapshot_content *content, struct err *err)
{
    static const struct {
        enum snapshot_section section;
        bool (*is_saved)(struct slice saved);
        const char *what;
    } checks[] = {
        {SNAPSHOT_CONFIG, config_value_is_saved, "settings"},
        {SNAPSHOT_MIRROR, etcd_mirror_is_saved, "marks of etcd's data set"},
        {SNAPSHOT_STORE_KEYS, store_keys_is_saved, "store keys"},
        {SNAPSHOT_LEASES, lease_table_is_saved, "leases"},
        {SNAPSHOT_BROKEN, broken_is_saved, "unusable keys"},
        {SNAPSHOT_CLIENTS, client_marks_is_saved, "addresses of nodes and visible namespaces"},
        {SNAPSHOT_CLIENT_RECORDS, client_marks_are_records_saved, "client records"},
        {SNAPSHOT_TOPOLOGY, client_marks_is_topology_saved, "zones of addresses"},
        {SNAPSHOT_MARKS, revision_marks_is_saved, "times of revisions"},
    };
    const struct snapshot_header *header = &content->header;
    const char *wrong = header->revision > 0 && header->heard_ms > 0 ? NULL : "revision and time";
    for (size_t i = 0; i < ARRAY_LEN(checks) && !wrong; i++) {
        const struct slice saved = store_sync_saved_section(content, checks[i].section);
        wrong = checks[i].is_saved(saved) ? NULL : checks[i].what;
    }
    if (wrong) {
        err_set(err, ERR_SYNTAX, "its %s make no sense", wrong);
    }
    return !wrong;
}

bool store_sync_load(struct store_sync *sync, const struct snapshot_content *content)
{
    config_value_load(&sync->document, store_sync_saved_section(content, SNAPSHOT_CONFIG));
    bool is_good =
        broken_load(sync->broken, store_sync_saved_section(content, SNAPSHOT_BROKEN)) &&
        store_keys_load(sync->keys, store_sync_saved_section(content, SNAPSHOT_STORE_KEYS)) &&
        lease_table_load(sync->leases, clock_wall_ms(),
                         store_sync_saved_section(content, SNAPSHOT_LEASES));
    if (is_good && sync->marks) {
        revision_marks_load(sync->marks, store_sync_saved_section(content, SNAPSHOT_MARKS));
    }
    return is_good;
}

void store_sync_begin_loaded(struct store_sync *sync, const struct snapshot_header *header)
{
    hear_saved(&sync->heard, header->heard_ms);
    sync->is_from_snapshot = sync->has_content = true;
    sync->counts.revision = header->revision;
    store_sync_settle(sync, false);
    store_sync_publish(sync, header->revision);
    log_debug("records of a snapshot published", LOG_INT("keys", (int64_t)sync->counts.keys),
              LOG_INT("revision", header->revision));
    store_sync_become_ready(sync);
}
