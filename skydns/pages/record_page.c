#include "skydns/pages/record_page_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/json_text.h"
#include "common/base/xalloc.h"
#include "common/dns/record.h"
#include "common/dns/record_rrs.h"
#include "skydns/sync/broken.h"
#include "skydns/sync/store_sync.h"
#include "skydns/wire/rr_text.h"

/* Ends a piece with the record that fills it: its value has at most 64 KiB, and an escaped
 * character takes six. */
enum { PIECE_FULL = 64 * 1024 };

/* Room for BROKEN_MAX keys of BROKEN_KEY_MAX with their reasons, every character escaped. */
enum { BROKEN_TEXT_MAX = 128 * 1024 * 1024 };

struct page {
    const struct store_sync *sync;
    struct dname last; /* the last record written; len 0: none yet */
    bool has_begun;
    bool has_records;  /* all of them */
    struct buf broken; /* as of the start of the page */
};

uint32_t record_page_known_s(const struct store_record *record)
{
    return (uint32_t)(clock_monotonic_ms() / 1000) - record->known_s;
}

static void number_field(struct buf *out, const char *name, uint32_t value)
{
    if (value != 0) {
        buf_printf(out, ",\"%s\":%" PRIu32, name, value);
    }
}

static void text_field(struct buf *out, const char *name, struct slice value)
{
    if (value.len > 0) {
        buf_printf(out, ",\"%s\":", name);
        json_text_string(out, value);
    }
}

/* Adds the records of `rr`, in this program's own form. */
static void rrs_field(struct buf *out, const struct store_record *record)
{
    const struct slice rrs = store_record_string(record, RECORD_RR);
    struct reader r = reader_of(rrs.ptr, rrs.len);
    struct record_rr packed;
    const char *before = ",\"rr\":[";
    struct buf text;
    buf_init(&text, RR_TEXT_MAX);
    while (record_rrs_next(&r, &packed)) {
        buf_clear(&text);
        rr_text_packed(packed.type, packed.data, &text);
        buf_append_str(out, before);
        json_text_string(out, buf_slice(&text));
        before = ",";
    }
    buf_append_str(out, rrs.len > 0 ? "]" : "");
    buf_fini(&text);
}

void record_page_fields(const struct store_record *record, struct slice prefix, struct buf *out)
{
    char host[DNAME_TEXT_MAX];
    struct dname name;
    struct buf key;
    buf_init(&key, prefix.len + DNAME_MAX);
    store_record_name(record, &name);
    record_key_of(prefix, &name, &key);
    buf_append_str(out, "\"key\":");
    json_text_string(out, buf_slice(&key));
    buf_fini(&key);
    text_field(out, "host", store_record_host_text(record, host));
    number_field(out, "port", record->port);
    number_field(out, "priority", record->priority);
    number_field(out, "weight", record->weight);
    text_field(out, "text", store_record_string(record, RECORD_TEXT));
    if (record->has_escapes) {
        text_field(out, "served", store_record_text_bytes(record));
    }
    rrs_field(out, record);
    if (record->mail) {
        buf_append_str(out, ",\"mail\":true");
    }
    number_field(out, "ttl", record->ttl_s);
    number_field(out, "targetstrip", record->targetstrip);
    text_field(out, "group", store_record_string(record, RECORD_GROUP));
    buf_printf(out, ",\"revision\":%" PRId64, record->mod_revision);
}

void record_page_age(const struct store_record *record, struct buf *out)
{
    buf_printf(out, ",\"known_s\":%" PRIu32, record_page_known_s(record));
}

static bool add_broken(void *data, const struct broken_key *key)
{
    struct buf *out = data;
    buf_append_str(out, out->len ? ",\n{\"key\":" : "\n{\"key\":");
    json_text_string(out, key->key);
    buf_append_str(out, ",\"reason\":");
    json_text_string(out, slice_str(key->reason));
    buf_printf(out, ",\"revision\":%" PRId64 "}", key->mod_revision);
    return !out->failed;
}

static void record_page_begin_page(const struct page *page, struct buf *piece)
{
    buf_printf(piece, "{\"revision\":%" PRId64 ",\"records\":[",
               store_sync_counts(page->sync).revision);
}

/* Adds records until the piece is full; true: no more. */
static bool record_page_add_records(struct page *page, struct buf *piece)
{
    const struct store *store = store_sync_store(page->sync);
    while (piece->len < PIECE_FULL) {
        const struct store_record *record =
            store ? store_next(store, page->last.len ? &page->last : NULL) : NULL;
        if (!record) {
            return true;
        }
        buf_append_str(piece, page->last.len ? ",\n{" : "\n{");
        record_page_fields(record, store_sync_prefix(page->sync), piece);
        record_page_age(record, piece);
        buf_append_char(piece, '}');
        store_record_name(record, &page->last);
    }
    return false;
}

static bool record_page_more(void *data, struct buf *piece)
{
    struct page *page = data;
    if (!page->has_begun) {
        page->has_begun = true;
        record_page_begin_page(page, piece);
    }
    if (!page->has_records) {
        page->has_records = record_page_add_records(page, piece);
        if (page->has_records) {
            buf_append_str(piece, "],\n\"broken\":[");
        }
        return true;
    }
    size_t len = page->broken.len < PIECE_FULL ? page->broken.len : PIECE_FULL;
    buf_append(piece, page->broken.data, len);
    buf_consume(&page->broken, len);
    if (page->broken.len > 0) {
        return true;
    }
    buf_append_str(piece, "]}\n");
    return false;
}

static void record_page_end(void *data)
{
    struct page *page = data;
    buf_fini(&page->broken);
    free(page);
}

void record_page_stream(const struct store_sync *sync, struct http_reply *reply)
{
    struct page *page = xcalloc(1, sizeof(*page));
    page->sync = sync;
    buf_init(&page->broken, BROKEN_TEXT_MAX);
    broken_each(store_sync_broken(sync), add_broken, &page->broken);
    reply->content_type = "application/json";
    reply->stream =
        (struct http_stream){.more = record_page_more, .end = record_page_end, .data = page};
}

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
