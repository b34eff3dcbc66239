/* Packs leases into the bytes of a snapshot, and unpacks them:
 *
 *     u64 when saved, Unix time in ms
 *     leases, each   u64 id   u8 1 if known   u64 ms left   u64 ms granted, and its keys, each
 *                    u8 name length   name   u64 revision   u32 TTL of the value
 *                    and u8 0 at their end
 *     u64 0          at the end
 *
 * What a lease has left counts from when it was saved, so that a clock set back adds nothing. */
#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/cursor.h"
#include "skydns/sync/lease_internal.h"

/* ---- Packing ---- */

static void save_lease(const struct lease *lease, int64_t now_ms, struct buf *out)
{
    int64_t left_ms = lease->expires_ms - now_ms;
    buf_append_u64(out, (uint64_t)lease->id);
    buf_append_u8(out, lease->is_known);
    buf_append_u64(out, lease->is_known && left_ms > 0 ? (uint64_t)left_ms : 0);
    buf_append_u64(out, (uint64_t)lease->granted_ms);
}

static void save_key(const struct leased_key *key, struct buf *out)
{
    buf_append_u8(out, key->name_len);
    buf_append(out, key->name, key->name_len);
    buf_append_u64(out, (uint64_t)key->mod_revision);
    buf_append_u32(out, key->ttl_s);
}

/* Saves the keys that still have a record. The list also holds keys whose record is gone, or was
 * dropped by a full read. */
static void save_keys(const struct lease *lease, int64_t now_ms, struct buf *out)
{
    const struct leased_key *key;
    bool is_first = true;
    LIST_FOREACH(key, &lease->keys, sibling)
    {
        if (lease_key_record(key)) {
            if (is_first) {
                save_lease(lease, now_ms, out);
            }
            save_key(key, out);
            is_first = false;
        }
    }
    if (!is_first) {
        buf_append_u8(out, 0);
    }
}

bool lease_table_save(const struct lease_table *table, int64_t now_ms, struct buf *out)
{
    const struct lease *lease;
    int64_t monotonic_ms = clock_monotonic_ms();
    if (table->counts.withheld > 0) {
        return false;
    }
    buf_append_u64(out, (uint64_t)now_ms);
    for (size_t at = 0; (lease = key_table_next(&table->leases, &at)); at++) {
        save_keys(lease, monotonic_ms, out);
    }
    buf_append_u64(out, 0);
    return true;
}

/* ---- Unpacking ---- */

/* Reads a time; refuses one so large that times cannot be added. */
static bool read_ms(struct reader *reader, int64_t *ret_ms)
{
    uint64_t ms = reader_u64(reader);
    *ret_ms = (int64_t)ms;
    return !reader->failed && ms <= (uint64_t)LEASE_TTL_MAX_S * 1000;
}

/* Reads the name's bytes, which must be those of a name and no more. */
static bool lease_saved_read_name(struct reader *reader, uint8_t len, struct dname *ret_name)
{
    const uint8_t *wire = reader_take(reader, len);
    struct reader of_name = reader_of(wire, wire ? len : 0);
    return wire && dname_read(&of_name, ret_name) && ret_name->len == len;
}

/* Reads a key; lease NULL: only checks that the bytes make sense. */
static bool lease_saved_read_key(struct reader *reader, uint8_t name_len, struct lease *lease)
{
    struct dname name;
    bool is_name = lease_saved_read_name(reader, name_len, &name);
    uint64_t mod_revision = reader_u64(reader);
    uint32_t ttl_s = reader_u32(reader);
    if (!is_name || reader->failed || mod_revision == 0 || mod_revision > INT64_MAX) {
        return false;
    }
    if (lease) {
        if (lease_key_find(lease->table, &name)) {
            return false;
        }
        struct leased_key *key = lease_key_add(lease, &name);
        key->is_saved = true;
        lease_key_set(key, (int64_t)mod_revision, ttl_s);
        return lease_key_record(key) != NULL;
    }
    return true;
}

static bool lease_saved_read_keys(struct reader *reader, struct lease *lease)
{
    size_t count = 0;
    uint8_t name_len;
    while ((name_len = reader_u8(reader)) > 0) {
        if (!lease_saved_read_key(reader, name_len, lease)) {
            return false;
        }
        count++;
    }
    return !reader->failed && count > 0;
}

static void load_lease(struct lease *lease, bool is_known, int64_t granted_ms, int64_t expires_ms)
{
    lease->is_known = lease->is_saved = is_known;
    lease->granted_ms = granted_ms;
    lease->expires_ms = expires_ms;
}

/* Target of loaded leases, and the time; table NULL: nowhere. */
struct loading {
    struct lease_table *table;
    int64_t monotonic_ms;
    int64_t elapsed_ms; /* since they were saved */
};

static bool read_lease(struct reader *reader, const struct loading *loading, int64_t id)
{
    int64_t left_ms, granted_ms;
    uint8_t is_known = reader_u8(reader);
    struct lease *lease = NULL;
    if (!read_ms(reader, &left_ms) || !read_ms(reader, &granted_ms) || is_known > 1) {
        return false;
    }
    if (loading->table) {
        if (lease_find(loading->table, id)) {
            return false;
        }
        lease = lease_add(loading->table, id);
        left_ms -= loading->elapsed_ms;
        load_lease(lease, is_known, granted_ms,
                   loading->monotonic_ms + (left_ms > 0 ? left_ms : 0));
    }
    return lease_saved_read_keys(reader, lease);
}

static bool read_leases(struct lease_table *table, int64_t now_ms, int64_t monotonic_ms,
                        struct slice saved)
{
    struct reader reader = reader_of(saved.ptr, saved.len);
    struct loading loading = {.table = table, .monotonic_ms = monotonic_ms};
    int64_t saved_ms = (int64_t)reader_u64(&reader);
    int64_t id;
    if (saved_ms < 0) {
        return false;
    }
    loading.elapsed_ms = now_ms > saved_ms ? now_ms - saved_ms : 0;
    while ((id = (int64_t)reader_u64(&reader)) != 0) {
        if (!read_lease(&reader, &loading, id)) {
            return false;
        }
    }
    return !reader.failed && reader_left(&reader) == 0;
}

bool lease_table_is_saved(struct slice saved)
{
    return read_leases(NULL, 0, 0, saved);
}

bool lease_table_load(struct lease_table *table, int64_t now_ms, struct slice saved)
{
    struct lease *lease;
    bool is_changed = false; /* the caller commits in any case */
    int64_t monotonic_ms = clock_monotonic_ms();
    if (!read_leases(table, now_ms, monotonic_ms, saved)) {
        return false;
    }
    for (size_t at = 0; (lease = key_table_next(&table->leases, &at)); at++) {
        if (!lease_update(lease, monotonic_ms, &is_changed)) {
            return false;
        }
        lease_wake_at(lease, lease->wake_ms);
    }
    return true;
}
