#include "skydns/sync/lease.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/key_table.h"
#include "common/base/outage.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_lease.h"
#include "skydns/sync/lease_internal.h"

/* Limits how often records change, so that many leases share a publication. TTLs are cut by as
 * much, so that none exceeds what its lease has left. */
enum { RUN_GAP_MS = 100 };

/* Asks etcd so long before a TTL would have to shrink, so that the answer arrives in time. */
enum { ASK_AHEAD_MS = 1000 };

/* Limits questions in flight. Each costs etcd some 50 us; with 100,000 leases at a start, etcd must
 * still get other work done. */
enum { ASKING_MAX = 16 };

/* Backoff before etcd is asked again: a third of the granted TTL, or less after a failure. While
 * etcd is away, one lease at a time asks every RETRY_MIN_MS; once it is answered, all ask. */
enum { RETRY_MIN_MS = 1000, RETRY_MAX_MS = 5000 };

enum { TTL_FLOOR_S = 1 };

static int64_t min_ms(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_ms(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- Timing ---- */

void lease_wake_at(struct lease *lease, int64_t at_ms)
{
    struct lease_table *table = lease->table;
    lease->wake_ms = min_ms(lease->wake_ms, at_ms);
    if (table->is_held || at_ms >= table->run_ms) {
        return;
    }
    int64_t now_ms = clock_monotonic_ms();
    table->run_ms = max_ms(at_ms, table->last_run_ms + RUN_GAP_MS);
    ev_now_update(table->config.loop);
    timer_arm_ms(table->config.loop, &table->run, table->run_ms - now_ms);
}

/* ---- TTLs ---- */

static int64_t limit_ms(const struct lease_table *table, uint32_t ttl_s)
{
    return (int64_t)(ttl_s ? ttl_s : table->config.default_ttl_s) * 1000;
}

uint32_t lease_ttl_now(const struct lease *lease, uint32_t ttl_s, int64_t now_ms)
{
    int64_t left_ms = lease->is_known ? lease->expires_ms - now_ms - RUN_GAP_MS : 0;
    if (left_ms >= limit_ms(lease->table, ttl_s)) {
        return ttl_s;
    }
    return left_ms > TTL_FLOOR_S * 1000 ? (uint32_t)(left_ms / 1000) : TTL_FLOOR_S;
}

/* Returns when a record with this TTL needs a smaller one. */
static int64_t shrinks_ms(const struct lease *lease, uint32_t ttl_s)
{
    return lease->is_known && ttl_s != TTL_FLOOR_S
               ? lease->expires_ms - RUN_GAP_MS - limit_ms(lease->table, ttl_s) + 1
               : INT64_MAX;
}

static int64_t ask_ms(const struct lease *lease)
{
    if (!lease->is_known || lease->call || lease->is_waiting) {
        return INT64_MAX; /* the reply wakes the lease */
    }
    return max_ms(lease->expires_ms - lease->least_ttl_ms - ASK_AHEAD_MS, lease->ask_again_ms);
}

/* ---- Asking etcd ---- */

static int64_t third_ms(const struct lease *lease)
{
    return max_ms(lease->granted_ms / 3, RETRY_MIN_MS);
}

static void lease_ask_next(struct lease_table *table);

/* Reports etcd away while the last question about any lease failed. */
static void lease_set_failed(struct lease *lease, const struct err *err)
{
    struct lease_table *table = lease->table;
    table->failed_count += !!err;
    table->failed_count -= lease->has_failed;
    lease->has_failed = err != NULL;
    if (!table->config.asking) {
        return;
    }
    if (err) {
        outage_away(table->config.asking, err);
    } else if (table->failed_count == 0) {
        outage_back(table->config.asking);
    }
}

static void ask_failed(struct lease *lease)
{
    struct lease_table *table = lease->table;
    int64_t now_ms = clock_monotonic_ms();
    lease->ask_again_ms = now_ms + min_ms(third_ms(lease), RETRY_MAX_MS);
    if (table->probe_ms <= now_ms) {
        table->probe_ms = lease->ask_again_ms = now_ms + RETRY_MIN_MS;
    }
    lease_wake_at(lease, lease->ask_again_ms);
}

/* Asks about the leases whose last question failed, since etcd has answered. */
static void ask_those_failed(struct lease_table *table)
{
    struct lease *lease;
    int64_t now_ms = clock_monotonic_ms();
    table->probe_ms = 0;
    for (size_t at = 0; (lease = key_table_next(&table->leases, &at)); at++) {
        if (lease->has_failed && lease->ask_again_ms > now_ms) {
            lease->ask_again_ms = now_ms;
            lease_wake_at(lease, now_ms);
        }
    }
}

static void lease_on_reply(void *data, const struct etcd_lease_reply *reply, const struct err *err)
{
    struct lease *lease = data;
    struct lease_table *table = lease->table;
    lease->call = NULL;
    table->counts.asking--;
    table->counts.failures += !!err;
    lease_set_failed(lease, err);
    if (err) {
        ask_failed(lease);
    } else {
        int64_t left_s = min_ms(max_ms(reply->ttl_s, 0), LEASE_TTL_MAX_S);
        lease->is_known = true;
        lease->is_saved = false;
        lease->is_gone = reply->ttl_s < 0;
        lease->granted_ms = min_ms(max_ms(reply->granted_s, 0), LEASE_TTL_MAX_S) * 1000;
        lease->expires_ms = lease->asked_ms + left_s * 1000;
        lease->ask_again_ms = lease->is_gone ? INT64_MAX : lease->asked_ms + third_ms(lease);
        lease_wake_at(lease, clock_monotonic_ms());
        if (table->probe_ms) {
            ask_those_failed(table);
        }
    }
    lease_ask_next(table);
}

static void lease_ask_next(struct lease_table *table)
{
    struct lease *lease;
    while (table->counts.asking < ASKING_MAX && (lease = TAILQ_FIRST(&table->waiting))) {
        TAILQ_REMOVE(&table->waiting, lease, waiting_entry);
        lease->is_waiting = false;
        lease->asked_ms = clock_monotonic_ms();
        lease->call = etcd_lease_time_to_live(table->config.etcd, lease->id, lease_on_reply, lease);
        table->counts.asking++;
        table->counts.questions++;
    }
}

static void lease_ask(struct lease *lease)
{
    if (!lease->call && !lease->is_waiting) {
        lease->is_waiting = true;
        TAILQ_INSERT_TAIL(&lease->table->waiting, lease, waiting_entry);
        lease_ask_next(lease->table);
    }
}

/* ---- Keys and leases ---- */

static struct slice lease_name_of(const void *thing)
{
    const struct leased_key *key = thing;
    return slice_of(key->name, key->name_len);
}

static struct slice id_bytes(const int64_t *id)
{
    return slice_of(id, sizeof(*id));
}

static struct slice lease_id_of(const void *thing)
{
    const struct lease *lease = thing;
    return id_bytes(&lease->id);
}

struct lease *lease_find(const struct lease_table *table, int64_t id)
{
    return key_table_find(&table->leases, id_bytes(&id));
}

struct lease *lease_add(struct lease_table *table, int64_t id)
{
    struct lease *lease = xcalloc(1, sizeof(*lease));
    lease->table = table;
    lease->id = id;
    lease->wake_ms = INT64_MAX;
    lease->least_ttl_ms = INT64_MAX;
    LIST_INIT(&lease->keys);
    (void)key_table_put(&table->leases, lease); /* was not there */
    table->counts.leases++;
    return lease;
}

static void lease_free(struct lease *lease)
{
    struct lease_table *table = lease->table;
    (void)key_table_take(&table->leases, lease_id_of(lease)); /* this one */
    if (lease->is_waiting) {
        TAILQ_REMOVE(&table->waiting, lease, waiting_entry);
    }
    if (lease->call) {
        etcd_call_cancel(lease->call);
        table->counts.asking--;
    }
    lease_set_failed(lease, NULL);
    table->counts.leases--;
    free(lease);
}

static void key_free(struct lease_table *table, struct leased_key *key)
{
    lease_forget_withheld(key);
    (void)key_table_take(&table->keys, lease_name_of(key)); /* this one */
    LIST_REMOVE(key, sibling);
    free(key);
}

struct leased_key *lease_key_find(const struct lease_table *table, const struct dname *name)
{
    return key_table_find(&table->keys, slice_of(name->wire, name->len));
}

struct leased_key *lease_key_add(struct lease *lease, const struct dname *name)
{
    struct leased_key *key = xcalloc(1, sizeof(*key) + name->len);
    key->name_len = name->len;
    memcpy(key->name, name->wire, name->len);
    (void)key_table_put(&lease->table->keys, key); /* was not there */
    key->lease = lease;
    LIST_INSERT_HEAD(&lease->keys, key, sibling);
    return key;
}

/* Moves a key from the lease that it belonged to before. */
static void key_move(struct leased_key *key, struct lease *lease)
{
    LIST_REMOVE(key, sibling);
    lease_wake_at(key->lease, clock_monotonic_ms()); /* it may have lost its last key */
    key->lease = lease;
    LIST_INSERT_HEAD(&lease->keys, key, sibling);
}

void lease_key_set(struct leased_key *key, int64_t mod_revision, uint32_t ttl_s)
{
    struct lease *lease = key->lease;
    key->mod_revision = mod_revision;
    key->ttl_s = ttl_s;
    lease->least_ttl_ms = min_ms(lease->least_ttl_ms, limit_ms(lease->table, ttl_s));
}

uint32_t lease_table_put(struct lease_table *table, const struct dname *name, int64_t id,
                         int64_t mod_revision, uint32_t ttl_s)
{
    if (id == 0) {
        lease_table_del(table, name);
        return ttl_s;
    }
    struct lease *lease = lease_find(table, id);
    struct leased_key *key = lease_key_find(table, name);
    if (!lease) {
        lease = lease_add(table, id);
        lease_ask(lease);
    }
    if (!key) {
        key = lease_key_add(lease, name);
    } else if (key->lease != lease) {
        key_move(key, lease);
    }
    lease_forget_withheld(key);
    key->is_saved = false;
    lease_key_set(key, mod_revision, ttl_s);
    int64_t now_ms = clock_monotonic_ms();
    if (lease->is_known && lease->expires_ms <= now_ms) {
        lease_ask(lease); /* etcd rejects keys with an expired lease: this is a new one */
    }
    uint32_t ttl = lease_ttl_now(lease, ttl_s, now_ms);
    lease_wake_at(lease, min_ms(shrinks_ms(lease, ttl), ask_ms(lease)));
    return ttl;
}

void lease_table_del(struct lease_table *table, const struct dname *name)
{
    struct leased_key *key = lease_key_find(table, name);
    if (key) {
        struct lease *lease = key->lease;
        key_free(table, key);
        if (LIST_EMPTY(&lease->keys)) {
            lease_free(lease);
        }
    }
}

/* ---- Counting down ---- */

/* Returns true if a lease of a snapshot has ended, and etcd has not been asked. */
static bool has_ended_unasked(const struct lease *lease, int64_t now_ms)
{
    return lease->is_saved && lease->is_known && lease->expires_ms <= now_ms;
}

/* Sets the record's current TTL, withholds it, or brings it back. Returns false if it is gone: the
 * writer no longer has it, as after a full read, or etcd says that a withheld record's lease is
 * gone.
 */
static bool key_update(struct leased_key *key, int64_t now_ms, uint32_t *ret_ttl_s,
                       bool *is_changed)
{
    const struct lease *lease = key->lease;
    struct store_writer *writer = lease->table->config.writer;
    struct dname name = lease_key_name(key);
    *ret_ttl_s = lease_ttl_now(lease, key->ttl_s, now_ms);
    if (key->is_saved && has_ended_unasked(lease, now_ms)) {
        return key->withheld || lease_withhold(key, is_changed);
    }
    if (key->withheld) {
        if (!lease->is_gone) {
            lease_bring_back(key, *ret_ttl_s, is_changed);
        }
        return !lease->is_gone;
    }
    return store_writer_set_ttl(writer, &name, key->mod_revision, *ret_ttl_s, is_changed);
}

/* Returns when the records of a lease of a snapshot are to be withheld. */
static int64_t withholds_ms(const struct lease *lease, int64_t now_ms)
{
    bool is_ending = lease->is_saved && lease->is_known && lease->expires_ms > now_ms;
    return is_ending ? lease->expires_ms : INT64_MAX;
}

bool lease_update(struct lease *lease, int64_t now_ms, bool *is_changed)
{
    struct lease_table *table = lease->table;
    int64_t shrink_ms = INT64_MAX;
    lease->wake_ms = INT64_MAX;
    lease->least_ttl_ms = INT64_MAX;
    for (struct leased_key *key = LIST_FIRST(&lease->keys), *next; key; key = next) {
        uint32_t ttl_s;
        next = LIST_NEXT(key, sibling);
        if (!key_update(key, now_ms, &ttl_s, is_changed)) {
            key_free(table, key);
            continue;
        }
        shrink_ms = min_ms(shrink_ms, shrinks_ms(lease, ttl_s));
        lease->least_ttl_ms = min_ms(lease->least_ttl_ms, limit_ms(table, key->ttl_s));
    }
    if (LIST_EMPTY(&lease->keys)) {
        lease_free(lease);
        return false;
    }
    if (lease->is_known ? ask_ms(lease) <= now_ms : lease->ask_again_ms <= now_ms) {
        lease_ask(lease);
    }
    lease->wake_ms = min_ms(min_ms(shrink_ms, withholds_ms(lease, now_ms)), ask_ms(lease));
    return true;
}

static void on_run(struct ev_loop *loop UNUSED, ev_timer *timer, int events UNUSED)
{
    struct lease_table *table = timer->data;
    int64_t now_ms = clock_monotonic_ms();
    bool is_changed = false;
    struct lease *next_lease = NULL; /* the first to wake */
    struct lease *lease;
    table->last_run_ms = now_ms;
    table->run_ms = INT64_MAX;
    for (size_t at = 0; (lease = key_table_next(&table->leases, &at));) {
        bool is_there = lease->wake_ms > now_ms || lease_update(lease, now_ms, &is_changed);
        at += is_there; /* else another may have taken its place */
    }
    for (size_t at = 0; (lease = key_table_next(&table->leases, &at)); at++) {
        if (!next_lease || lease->wake_ms < next_lease->wake_ms) {
            next_lease = lease;
        }
    }
    if (next_lease && next_lease->wake_ms != INT64_MAX) {
        lease_wake_at(next_lease, next_lease->wake_ms);
    }
    if (is_changed) {
        table->config.changed(table->config.data);
    }
}

void lease_table_hold(struct lease_table *table)
{
    lease_forget_all_withheld(table); /* the read brings those that exist */
    table->is_held = true;
    table->run_ms = INT64_MAX;
    ev_timer_stop(table->config.loop, &table->run);
}

/* Checks every lease again, as after a full read. */
static void wake_all(struct lease_table *table)
{
    struct lease *lease;
    int64_t now_ms = clock_monotonic_ms();
    for (size_t at = 0; (lease = key_table_next(&table->leases, &at)); at++) {
        lease_wake_at(lease, now_ms);
    }
}

void lease_table_set_default_ttl(struct lease_table *table, uint32_t ttl_s)
{
    if (ttl_s != table->config.default_ttl_s) {
        table->config.default_ttl_s = ttl_s;
        wake_all(table);
    }
}

void lease_table_release(struct lease_table *table)
{
    if (table->is_held) {
        table->is_held = false;
        wake_all(table);
    }
}

struct lease_counts lease_table_counts(const struct lease_table *table)
{
    return table->counts;
}

/* ---- Life ---- */

struct lease_table *lease_table_new(const struct lease_table_config *config)
{
    struct lease_table *table = xcalloc(1, sizeof(*table));
    table->config = *config;
    key_table_init(&table->keys, lease_name_of);
    key_table_init(&table->leases, lease_id_of);
    TAILQ_INIT(&table->waiting);
    table->run_ms = INT64_MAX;
    timer_init(&table->run, on_run, table);
    return table;
}

void lease_table_free(struct lease_table *table)
{
    struct leased_key *key;
    struct lease *lease;
    if (!table) {
        return;
    }
    table->config.asking = NULL; /* freeing a lease says nothing about etcd */
    ev_timer_stop(table->config.loop, &table->run);
    for (size_t at = 0; (key = key_table_next(&table->keys, &at));) {
        key_free(table, key);
    }
    for (size_t at = 0; (lease = key_table_next(&table->leases, &at));) {
        lease_free(lease);
    }
    key_table_fini(&table->keys);
    key_table_fini(&table->leases);
    free(table);
}
