#include "skydns/sync/record_keys_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/cursor.h"
#include "common/base/xalloc.h"
#include "skydns/clients/client_index.h"
#include "skydns/sync/client_marks_internal.h"
#include "skydns/sync/record_value_internal.h"

/* Holds the record that the next commit gives an address. */
struct record_change {
    struct ip ip;
    struct client_record *record; /* owned; NULL: none */
};

/* Returns an address as a table's key: family_bytes, and that many bytes. */
static struct slice record_keys_ip_key(const struct ip *ip)
{
    return slice_of(ip, 1 + (size_t)ip->family_bytes);
}

static struct slice key_of_record(const void *thing)
{
    return record_keys_ip_key(&((const struct client_record *)thing)->ip);
}

static struct slice key_of_change(const void *thing)
{
    return record_keys_ip_key(&((const struct record_change *)thing)->ip);
}

void record_keys_init(struct record_keys *keys, struct client_index *index)
{
    *keys = (struct record_keys){.index = index};
    key_table_init(&keys->records, key_of_record);
    key_table_init(&keys->changes, key_of_change);
}

static void drop_record(const struct record_keys *keys, struct client_record *record)
{
    if (record) {
        client_index_drop_record(keys->index, record);
    }
}

static void forget_changes(struct record_keys *keys)
{
    struct record_change *change;
    for (size_t at = 0; (change = key_table_next(&keys->changes, &at)); at++) {
        drop_record(keys, change->record);
        free(change);
    }
    key_table_fini(&keys->changes);
}

void record_keys_fini(struct record_keys *keys)
{
    struct client_record *record;
    for (size_t at = 0; (record = key_table_next(&keys->records, &at)); at++) {
        drop_record(keys, record);
    }
    key_table_fini(&keys->records);
    forget_changes(keys);
}

/* ---- What the mirror tells ---- */

void record_keys_begin(struct record_keys *keys, bool keeps_old)
{
    struct client_record *record;
    const struct record_change *change;
    keys->keeps_old = keeps_old;
    for (size_t at = 0; (record = key_table_next(&keys->records, &at)); at++) {
        record->is_read = false;
    }
    for (size_t at = 0; (change = key_table_next(&keys->changes, &at)); at++) {
        if (change->record) {
            change->record->is_read = false;
        }
    }
}

/* Notes what the address is to have: a record, owned from now on, or none. */
static void record_keys_note(struct record_keys *keys, const struct ip *ip,
                             struct client_record *record)
{
    struct record_change *change = key_table_find(&keys->changes, record_keys_ip_key(ip));
    if (!change) {
        change = xcalloc(1, sizeof(*change));
        change->ip = *ip;
        (void)key_table_put(&keys->changes, change); /* is new */
    }
    drop_record(keys, change->record);
    change->record = record;
}

static bool is_same_record(const struct client_record *record,
                           const struct client_description *description)
{
    struct client_description old = client_record_describe(record);
    return slice_equal(old.ns, description->ns) && slice_equal(old.pod, description->pod) &&
           slice_equal(old.node, description->node) && slice_equal(old.zone, description->zone);
}

/* Returns the address's record as of the last put and delete; NULL: none. */
static struct client_record *record_now(const struct record_keys *keys, const struct ip *ip)
{
    const struct record_change *change = key_table_find(&keys->changes, record_keys_ip_key(ip));
    return change ? change->record : key_table_find(&keys->records, record_keys_ip_key(ip));
}

static void record_keys_remove(struct record_keys *keys, const struct ip *ip)
{
    if (record_now(keys, ip)) {
        record_keys_note(keys, ip, NULL);
    }
}

static const char *put_description(struct record_keys *keys, const struct ip *ip,
                                   const struct client_description *description)
{
    struct client_record *now = record_now(keys, ip);
    if (!now && keys->records.count + keys->changes.count >= CLIENT_MARKS_RECORDS_MAX) {
        return "more than 524,288 client records: this one is left out";
    }
    if (!now || !is_same_record(now, description)) {
        now = client_index_new_record(keys->index, ip, description);
        record_keys_note(keys, ip, now);
    }
    now->is_read = true;
    return NULL;
}

const char *record_keys_put(struct record_keys *keys, struct slice label, struct slice value)
{
    struct record_value read;
    struct ip ip;
    if (!ip_parse_dashed(label, &ip)) {
        return "not an address behind its prefix";
    }
    const char *refusal = record_value_read(&read, value);
    refusal = refusal ? refusal : put_description(keys, &ip, &read.description);
    record_value_fini(&read);
    if (refusal) {
        record_keys_remove(keys, &ip);
    }
    return refusal;
}

void record_keys_del(struct record_keys *keys, struct slice label)
{
    struct ip ip;
    if (ip_parse_dashed(label, &ip)) {
        record_keys_remove(keys, &ip);
    }
}

/* ---- Committing ---- */

/* Removes the records that the full read did not tell of. */
static void forget_unread(struct record_keys *keys)
{
    const struct client_record *record;
    struct record_change *change;
    for (size_t at = 0; (record = key_table_next(&keys->records, &at)); at++) {
        const struct client_record *now = record_now(keys, &record->ip);
        if (now && !now->is_read) {
            record_keys_note(keys, &record->ip, NULL);
        }
    }
    for (size_t at = 0; (change = key_table_next(&keys->changes, &at)); at++) {
        if (change->record && !change->record->is_read) {
            drop_record(keys, STEAL(change->record));
        }
    }
}

static void show_change(const struct record_keys *keys, const struct client_record *old,
                        struct client_record *record)
{
    if (old && record) {
        client_index_replace_record(keys->index, old, record);
    } else if (record) {
        client_index_set_record(keys->index, record);
    } else if (old) {
        client_index_unset_record(keys->index, old);
    }
}

/* Returns whether the change changes anything. */
static bool end_record_change(struct record_keys *keys, struct record_change *change, bool is_shown)
{
    struct client_record *old = key_table_find(&keys->records, key_of_change(change));
    struct client_record *record = STEAL(change->record);
    bool is_change = old || record;
    if (is_shown) {
        show_change(keys, old, record);
    }
    if (record) {
        (void)key_table_put(&keys->records, record); /* returns `old` */
    } else if (old) {
        (void)key_table_take(&keys->records, key_of_change(change)); /* this one */
    }
    drop_record(keys, old);
    return is_change;
}

bool record_keys_commit(struct record_keys *keys, bool full, bool is_shown)
{
    struct record_change *change;
    bool is_change = false;
    if (full && !keys->keeps_old) {
        forget_unread(keys);
    }
    for (size_t at = 0; (change = key_table_next(&keys->changes, &at)); at++) {
        is_change = end_record_change(keys, change, is_shown) || is_change;
        free(change);
    }
    key_table_fini(&keys->changes);
    return is_change;
}

void record_keys_show(const struct record_keys *keys)
{
    struct client_record *record;
    for (size_t at = 0; (record = key_table_next(&keys->records, &at)); at++) {
        client_index_set_record(keys->index, record);
    }
}

/* ---- Across restarts: how many, then address, namespace, pod, node and zone of each ---- */

void record_keys_save(const struct record_keys *keys, struct buf *out)
{
    const struct client_record *record;
    buf_append_u32(out, (uint32_t)keys->records.count);
    for (size_t at = 0; (record = key_table_next(&keys->records, &at)); at++) {
        struct client_description description = client_record_describe(record);
        buf_append_sized(out, slice_of(record->ip.bytes, record->ip.family_bytes));
        buf_append_sized(out, description.ns);
        buf_append_sized(out, description.pod);
        buf_append_sized(out, description.node);
        buf_append_sized(out, description.zone);
    }
}

static bool record_keys_load_one(struct record_keys *keys, struct reader *reader)
{
    struct slice bytes = reader_sized(reader);
    struct client_description description = {.ns = reader_sized(reader)};
    struct ip ip = {.family_bytes = (uint8_t)bytes.len};
    description.pod = reader_sized(reader);
    description.node = reader_sized(reader);
    description.zone = reader_sized(reader);
    if (reader->failed || (bytes.len != 4 && bytes.len != 16) ||
        record_value_refusal(&description)) {
        return false;
    }
    memcpy(ip.bytes, bytes.ptr, bytes.len);
    return !keys || !put_description(keys, &ip, &description);
}

bool record_keys_load(struct record_keys *keys, struct reader *reader)
{
    uint32_t count = reader_u32(reader);
    bool is_good = !reader->failed && count <= CLIENT_MARKS_RECORDS_MAX;
    for (uint32_t i = 0; is_good && i < count; i++) {
        is_good = record_keys_load_one(keys, reader);
    }
    return is_good;
}
