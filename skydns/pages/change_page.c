#include "skydns/pages/change_page_internal.h"

#include <inttypes.h>

#include "common/base/json_text.h"
#include "common/dns/record_key.h"
#include "skydns/sync/store_sync.h"

void change_page_one(const struct recent_change *change, struct slice prefix, struct buf *out)
{
    char name[DNAME_TEXT_MAX];
    struct buf key;
    buf_init(&key, prefix.len + DNAME_MAX);
    record_key_of(prefix, &change->name, &key);
    buf_printf(out, "{\"time_ms\":%" PRId64 ",\"revision\":%" PRId64 ",\"kind\":\"%s\",\"name\":",
               change->time_ms, change->revision, change->is_delete ? "delete" : "put");
    json_text_string(out, slice_str(dname_to_text(&change->name, name)));
    buf_append_str(out, ",\"key\":");
    json_text_string(out, buf_slice(&key));
    if (change->took_us >= 0) {
        buf_printf(out, ",\"took_us\":%" PRId64, change->took_us);
    }
    buf_append_char(out, '}');
    buf_fini(&key);
}

void change_page_list(const struct store_sync *sync, size_t max, struct buf *out)
{
    const struct recent_changes *recent = store_sync_recent(sync);
    size_t count = recent_changes_count(recent);
    buf_append_char(out, '[');
    for (size_t i = 0; i < count && i < max; i++) {
        buf_append_str(out, i ? "," : "");
        change_page_one(recent_changes_get(recent, i), store_sync_prefix(sync), out);
    }
    buf_append_char(out, ']');
}
