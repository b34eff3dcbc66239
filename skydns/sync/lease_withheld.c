/* Remembers records that the writer lacks because their lease has ended, as far as a snapshot
 * knows. */
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/xalloc.h"
#include "common/dns/record.h"
#include "skydns/records/store_loader.h"
#include "skydns/sync/lease_internal.h"

struct dname lease_key_name(const struct leased_key *key)
{
    struct dname name = {.len = key->name_len};
    memcpy(name.wire, key->name, key->name_len);
    return name;
}

const struct store_record *lease_key_record(const struct leased_key *key)
{
    struct dname name = lease_key_name(key);
    const struct store_record *record = store_writer_find(key->lease->table->config.writer, &name);
    return record && record->mod_revision == key->mod_revision ? record : NULL;
}

static struct record *copy_withheld(const struct store_record *record)
{
    char out[DNAME_TEXT_MAX];
    struct record shown = store_record_saved(record).record;
    shown.host = store_record_host_text(record, out);
    shown.is_leased = false;
    struct record *copy = xcalloc(1, sizeof(*copy));
    *copy = record_copy(&shown);
    return copy;
}

bool lease_withhold(struct leased_key *key, bool *is_changed)
{
    struct lease_table *table = key->lease->table;
    struct dname name = lease_key_name(key);
    const struct store_record *record = lease_key_record(key);
    if (!record) {
        return false;
    }
    key->withheld = copy_withheld(record);
    table->counts.withheld++;
    table->counts.moves++;
    store_writer_del(table->config.writer, &name);
    *is_changed = true;
    return true;
}

void lease_bring_back(struct leased_key *key, uint32_t ttl_s, bool *is_changed)
{
    struct dname name = lease_key_name(key);
    struct record record = *key->withheld;
    record.ttl_s = ttl_s;
    (void)store_writer_put_view(key->lease->table->config.writer, &name, &record,
                                key->mod_revision);
    lease_forget_withheld(key);
    key->lease->table->counts.moves++;
    *is_changed = true;
}

void lease_forget_withheld(struct leased_key *key)
{
    if (key->withheld) {
        key->lease->table->counts.withheld--;
        record_fini(key->withheld);
        free(key->withheld);
        key->withheld = NULL;
    }
}

void lease_forget_all_withheld(struct lease_table *table)
{
    struct leased_key *key;
    for (size_t at = 0; table->counts.withheld > 0 && (key = key_table_next(&table->keys, &at));
         at++) {
        lease_forget_withheld(key);
    }
}

/* Confirms that the key's lease is gone as etcd said; the next update forgets it. */
static void lease_withheld_confirm(struct leased_key *key, int64_t now_ms, bool *is_changed)
{
    key->is_saved = false;
    if (key->withheld && !key->lease->is_gone) {
        lease_bring_back(key, lease_ttl_now(key->lease, key->ttl_s, now_ms), is_changed);
    }
}

void lease_table_confirm(struct lease_table *table)
{
    struct leased_key *key;
    int64_t now_ms = clock_monotonic_ms();
    bool is_changed = false;
    for (size_t at = 0; (key = key_table_next(&table->keys, &at)); at++) {
        lease_withheld_confirm(key, now_ms, &is_changed);
    }
    if (is_changed) {
        table->config.changed(table->config.data);
    }
}
