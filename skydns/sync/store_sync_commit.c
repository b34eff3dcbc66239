/* Publishes one version of the record store for each revision of etcd. */
#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"

#include "skydns/sync/store_sync_internal.h"

/* ---- Versions ---- */

static bool is_perhaps_other_store(const struct etcd_mirror_read *read)
{
    return read->cause == ETCD_MIRROR_OTHER_STORE || read->cause == ETCD_MIRROR_UNCERTAIN;
}

void store_sync_on_full_begin(void *data, const struct etcd_mirror_read *read)
{
    struct store_sync *sync = data;
    lease_table_hold(sync->leases);
    if (read->cause == ETCD_MIRROR_OTHER_STORE) {
        store_keys_other_store(sync->keys);
    }
    if (is_perhaps_other_store(read)) {
        sync->data_set++;
        if (sync->marks) {
            revision_marks_clear(sync->marks);
        }
    }
    if (!read->keeps_old) {
        store_writer_clear(sync->writer);
        broken_begin_read(sync->broken);
        config_value_begin_read(&sync->document);
        clients_read_again(sync->clients);
    }
    if (read->reason[0]) {
        log_warn("etcd holds another data set", LOG_STR("reason", read->reason),
                 LOG_STR("old_records",
                         read->keeps_old ? "kept until the new data set is complete" : "replaced"));
    }
    sync->read = (struct etcd_mirror_read){.cause = read->cause, .keeps_old = read->keeps_old};
    sync->is_reading = true;
    sync->skipped_before_read = sync->counts.skipped;
}

void store_sync_reclaim(struct store_sync *sync)
{
    if (publisher_reclaim(sync->config.publisher)) {
        ev_timer_again(sync->config.loop, &sync->reclaim);
    }
}

/* Publishes, since the content may depend on known clients as it does on completeness. Reading
 * client records has taken memory, a multiple of what they keep. */
void store_sync_on_clients_known(void *data)
{
    struct store_sync *sync = data;
    ev_timer_again(sync->config.loop, &sync->trim);
    if (sync->config.on_completeness) {
        sync->config.on_completeness(sync->config.data);
    }
    store_sync_become_ready(sync);
}

void store_sync_on_clients_changed(void *data)
{
    struct store_sync *sync = data;
    sync->changes++;
    store_sync_reclaim(sync);
    store_sync_become_ready(sync); /* when keys about clients are denied, the wait for them ends */
}

void store_sync_see(struct store_sync *sync)
{
    recent_changes_see(&sync->recent, publisher_seen(sync->config.publisher));
    if (sync->recent.waiting == 0) {
        ev_timer_stop(sync->config.loop, &sync->seen);
    } else if (!ev_is_active(&sync->seen)) {
        ev_timer_again(sync->config.loop, &sync->seen);
    }
}

static void store_sync_commit_publish(struct store_sync *sync, const struct store *store,
                                      struct store_garbage *garbage)
{
    publisher_publish(sync->config.publisher, store, garbage);
    recent_changes_publish(&sync->recent, publisher_epoch(sync->config.publisher));
    store_sync_see(sync);
    sync->published = store;
    if (sync->stubs) {
        stub_keys_follow(sync->stubs, store);
    }
    sync->counts.published++;
    sync->counts.published_revision = store_revision(store);
    store_sync_reclaim(sync);
}

static void free_garbage(void *garbage)
{
    store_garbage_free(garbage);
}

void store_sync_publish(struct store_sync *sync, int64_t revision)
{
    struct store_garbage *garbage, *of_overrides = NULL;
    if (override_index_is_due(sync->overrides)) {
        store_writer_touch(sync->writer);
    }
    const struct store *store = store_writer_commit(sync->writer, revision, &garbage);
    if (store != sync->published) {
        store_writer_set_overrides(
            sync->writer,
            override_index_follow(sync->overrides, sync->published, store, &of_overrides));
    }
    clients_follow(sync->clients, store);
    if (sync->gone && !sync->is_reading) { /* a full read does not know when */
        struct dname domains[ENGINE_ZONES_MAX];
        const size_t count = store_sync_domains(sync, domains);
        gone_names_follow(sync->gone, sync->published, store, domains, count);
    }
    if (sync->is_reading && is_perhaps_other_store(&sync->read)) {
        zone_changes_restart(&sync->zones, revision);
    } else if (sync->is_reading) {
        zone_changes_compare(&sync->zones, sync->published, store, revision);
    }
    if (store != sync->published) {
        store_sync_commit_publish(sync, store, garbage);
        if (of_overrides) {
            publisher_retire(sync->config.publisher, of_overrides, free_garbage);
        }
    } else if (sync->stubs) {
        stub_keys_follow(sync->stubs, store); /* keys whose values are no records */
    }
    sync->counts.keys = store_writer_count(sync->writer);
}

void store_sync_on_ttls_changed(void *data)
{
    struct store_sync *sync = data;
    uint64_t moves = lease_table_counts(sync->leases).moves;
    if (moves != sync->lease_moves) {
        sync->lease_moves = moves;
        clients_read_again(sync->clients); /* records came and went by themselves */
        override_index_note_all(sync->overrides);
    }
    override_index_note_leases(sync->overrides);
    store_sync_publish(sync, sync->counts.revision);
}

/* ---- Completeness ---- */

void store_sync_become_ready(struct store_sync *sync)
{
    bool is_awaited = sync->config.requires_store_key && store_keys_is_any_missing(sync->keys);
    if (sync->has_content && !sync->is_ready && !is_awaited && !store_sync_awaits_clients(sync)) {
        sync->is_ready = true;
        if (sync->config.on_ready) {
            sync->config.on_ready(sync->config.data);
        }
    }
}

void store_sync_settle(struct store_sync *sync, bool only_worse)
{
    bool is_holding_old = etcd_mirror_counts(sync->mirror).is_holding_old;
    if (store_keys_settle(sync->keys, is_holding_old, only_worse) && sync->config.on_completeness) {
        sync->config.on_completeness(sync->config.data);
    }
}

static void settle_keys(struct store_sync *sync)
{
    store_sync_settle(sync, false);
    store_sync_become_ready(sync);
}

/* Settles completeness when a key appeared or is gone. */
void store_sync_keys_changed(struct store_sync *sync)
{
    sync->changes++;
    settle_keys(sync);
}

void store_sync_key_appeared(struct store_sync *sync)
{
    etcd_mirror_reread(sync->mirror);
}

/* Notes the store key's value, if it is new: each session sees it again. */
static void note_id(struct store_sync *sync, struct slice id)
{
    struct slice start = slice_of(id.ptr, id.len < SEEN_ID_MAX ? id.len : SEEN_ID_MAX);
    if (!slice_equal(buf_slice(&sync->seen_id), start)) {
        buf_clear(&sync->seen_id);
        buf_append_slice(&sync->seen_id, start);
        sync->changes++;
    }
}

/* Makes a key that was missing count from the next full read on: the watch may lag behind it. */
void store_sync_on_store_key_seen(void *data, struct slice id, bool has_read)
{
    struct store_sync *sync = data;
    bool is_there = id.len > 0;
    if (is_there && !has_read && store_keys_is_missing(sync->keys, &sync->main_domain)) {
        etcd_mirror_reread(sync->mirror);
        return;
    }
    note_id(sync, id);
    store_keys_tell(sync->keys, is_there);
    if (!has_read) {
        settle_keys(sync);
    }
}

static void log_read(const struct store_sync *sync)
{
    log_info(sync->has_read ? "records reread" : "records read",
             LOG_INT("keys", (int64_t)sync->counts.keys),
             LOG_INT("skipped", (int64_t)(sync->counts.skipped - sync->skipped_before_read)),
             LOG_INT("revision", sync->counts.revision),
             LOG_STR("cause", etcd_mirror_cause_text(sync->read.cause)));
}

/* Marks the published version as a whole content. */
static void on_full_commit(struct store_sync *sync)
{
    lease_table_release(sync->leases);
    ev_timer_again(sync->config.loop, &sync->trim);
    sync->counts.reads++;
    log_read(sync);
    sync->has_read = sync->has_content = true;
    sync->is_reading = false;
    store_keys_have_read(sync->keys);
    if (sync->stubs) {
        stub_keys_read_again(sync->stubs);
        stub_keys_follow(sync->stubs, sync->published);
    }
    clients_remember_broken(sync->clients);
    if (!sync->read.keeps_old) {
        clients_confirm(sync->clients);
    }
    store_sync_settle(sync, false);
    domain_check(&sync->domain_check, sync->published, sync->keys);
    store_sync_become_ready(sync);
}

void store_sync_on_commit(void *data, int64_t revision, bool full)
{
    struct store_sync *sync = data;
    struct slice document;
    sync->is_committing = true;
    if (full) {
        override_index_note_all(sync->overrides);
    }
    if (full && !sync->read.keeps_old) {
        broken_end_read(sync->broken);
        config_value_end_read(&sync->document);
    }
    if (config_value_take_change(&sync->document, &document) && sync->config.on_config) {
        zone_changes_note_all(&sync->zones, revision);
        sync->config.on_config(sync->config.data, document);
    }
    if (full) {
        store_sync_settle(sync, true);
    }
    store_sync_publish(sync, revision);
    sync->is_committing = false;
    sync->changes++;
    sync->counts.revision = revision;
    if (sync->marks) {
        revision_marks_note(sync->marks, clock_wall_ms(), revision);
    }
    if (full) {
        on_full_commit(sync);
    }
}

void store_sync_on_state(void *data, const struct err *err)
{
    struct store_sync *sync = data;
    if (err) {
        store_sync_lose(sync);
    }
    if (sync->config.followed && err) {
        outage_away(sync->config.followed, err);
    } else if (sync->config.followed) {
        outage_back(sync->config.followed);
    }
}

void store_sync_on_caught_up(void *data)
{
    struct store_sync *sync = data;
    store_sync_hear(sync);
    if (sync->is_from_snapshot && !sync->has_read) {
        domain_check(&sync->domain_check, sync->published, sync->keys);
        ev_timer_again(sync->config.loop, &sync->trim);
    }
    if (sync->is_from_snapshot && !etcd_mirror_counts(sync->mirror).is_holding_old) {
        lease_table_confirm(sync->leases);
        clients_confirm(sync->clients);
    }
    sync->is_from_snapshot = false;
    sync->was_caught_up = true;
}

void store_sync_on_store_key_state(void *data UNUSED, const struct err *err)
{
    if (err) {
        log_warn("cannot read the store key; detecting another etcd by single keys only",
                 LOG_STR("reason", err->msg));
    } else {
        log_info("store key can be read again");
    }
}
