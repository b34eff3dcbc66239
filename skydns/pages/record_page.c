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

static void record_page_put_number(struct buf *out, const char *name, uint32_t value)
{
    if (value != 0) {
        json_text_number_field(out, name, value);
    }
}

static void record_page_put_text(struct buf *out, const char *name, struct slice value)
{
    if (value.len > 0) {
        json_text_slice_field(out, name, value);
    }
}

/* Adds the records of `rr`, in this program's own form. */
static void rrs_field(struct buf *out, const struct store_record *record)
{
    const struct slice rrs = store_record_string(record, RECORD_RR);
    struct reader r = reader_of(rrs.ptr, rrs.len);
    struct record_rr packed;
    if (rrs.len == 0) {
        return;
    }
    CLEANUP_BUF struct buf text = buf_of(RR_TEXT_MAX);
    json_text_open(out, "rr", '[');
    while (record_rrs_next(&r, &packed)) {
        buf_clear(&text);
        rr_text_packed(packed.type, packed.data, &text);
        json_text_slice_field(out, NULL, buf_slice(&text));
    }
    buf_append_char(out, ']');
}

void record_page_key(struct buf *out, const char *field, const struct dname *name,
                     struct slice prefix)
{
    CLEANUP_BUF struct buf key = buf_of(prefix.len + DNAME_MAX);
    record_key_of(prefix, name, &key);
    json_text_slice_field(out, field, buf_slice(&key));
}

void record_page_fields(const struct store_record *record, struct slice prefix, struct buf *out)
{
    char host[DNAME_TEXT_MAX];
    struct dname name;
    store_record_name(record, &name);
    record_page_key(out, "key", &name, prefix);
    record_page_put_text(out, "host", store_record_host_text(record, host));
    record_page_put_number(out, "port", record->port);
    record_page_put_number(out, "priority", record->priority);
    record_page_put_number(out, "weight", record->weight);
    record_page_put_text(out, "text", store_record_string(record, RECORD_TEXT));
    if (record->has_escapes) {
        record_page_put_text(out, "served", store_record_text_bytes(record));
    }
    rrs_field(out, record);
    if (record->mail) {
        json_text_flag_field(out, "mail", true);
    }
    record_page_put_number(out, "ttl", record->ttl_s);
    record_page_put_number(out, "targetstrip", record->targetstrip);
    record_page_put_text(out, "group", store_record_string(record, RECORD_GROUP));
    json_text_integer_field(out, "revision", record->mod_revision);
}

void record_page_age(const struct store_record *record, struct buf *out)
{
    json_text_number_field(out, "known_s",
                           (uint32_t)(clock_monotonic_ms() / 1000) - record->known_s);
}

void broken_key_fields(const struct broken_key *key, struct buf *out)
{
    json_text_slice_field(out, "key", key->key);
    json_text_string_field(out, "reason", key->reason);
    json_text_integer_field(out, "revision", key->mod_revision);
    buf_append_char(out, '}');
}

static bool add_broken(void *data, const struct broken_key *key)
{
    struct buf *out = data;
    buf_append_str(out, out->len ? ",\n{" : "\n{");
    broken_key_fields(key, out);
    return !out->failed;
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
        buf_printf(piece, "{\"revision\":%" PRId64 ",\"records\":[",
                   store_sync_counts(page->sync).revision);
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

void change_page_one(const char *field, const struct recent_change *change, struct slice prefix,
                     struct buf *out)
{
    json_text_open(out, field, '{');
    json_text_integer_field(out, "time_ms", change->time_ms);
    json_text_integer_field(out, "revision", change->revision);
    json_text_string_field(out, "kind", change->is_delete ? "delete" : "put");
    dname_json_field(out, "name", &change->name);
    record_page_key(out, "key", &change->name, prefix);
    if (change->took_us >= 0) {
        json_text_integer_field(out, "took_us", change->took_us);
    }
    buf_append_char(out, '}');
}

void change_page_list(const struct store_sync *sync, size_t max, struct buf *out)
{
    const struct recent_changes *recent = store_sync_recent(sync);
    size_t count = recent_changes_count(recent);
    json_text_open(out, "changes", '[');
    for (size_t i = 0; i < count && i < max; i++) {
        change_page_one(NULL, recent_changes_get(recent, i), store_sync_prefix(sync), out);
    }
    buf_append_char(out, ']');
}
