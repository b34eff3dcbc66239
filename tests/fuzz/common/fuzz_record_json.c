/* Any bytes as a record's value: rejected with a message, or accepted, and then the record written
 * out reads back the same. The fast path accepts nothing that the slow path rejects, and returns
 * the same record. */
#include <assert.h>
#include <string.h>

#include "common/dns/record_json.h"
#include "common/dns/record_scan.h"
#include "common/dns/txt.h"

static void check_scan(const struct record_view *scanned, const struct record *record)
{
    struct record_view view = record_view_of(record);
    assert(slice_equal(scanned->host, view.host) && slice_equal(scanned->text, view.text));
    assert(slice_equal(scanned->group, view.group) && scanned->ttl_s == view.ttl_s);
    assert(scanned->port == view.port && scanned->priority == view.priority);
    assert(scanned->weight == view.weight && scanned->targetstrip == view.targetstrip);
    assert(scanned->mail == view.mail);
}

/* A text's bytes fit the room of the text; without escapes they are the text. */
static void check_text(struct slice text)
{
    static uint8_t bytes[RECORD_JSON_MAX];
    size_t len = txt_unescape(text, NULL);
    assert(len <= text.len && text.len <= sizeof(bytes) && txt_unescape(text, bytes) == len);
    assert(txt_has_escapes(text) || slice_equal(text, slice_of(bytes, len)));
    assert(!txt_has_escapes(text) || len < text.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct record first, again;
    struct record_view view;
    struct err err = {0};
    bool is_scanned = record_scan(slice_of(data, size), &view);
    if (record_from_json(slice_of(data, size), &first, &err) < 0) {
        assert(err.code < 0 && err.msg[0] && !is_scanned);
        return 0;
    }
    if (is_scanned) {
        check_scan(&view, &first);
    }
    check_text(slice_str(first.text));
    struct buf json;
    buf_init(&json, 16 * (size_t)RECORD_JSON_MAX);
    record_to_json(&first, &json);
    assert(!json.failed);
    if (json.len <= RECORD_JSON_MAX) {
        int r = record_from_json(buf_slice(&json), &again, NULL);
        assert(r == 0);
        assert(strcmp(first.host, again.host) == 0 && first.port == again.port);
        assert(first.priority == again.priority && first.weight == again.weight);
        assert(first.ttl_s == again.ttl_s && first.targetstrip == again.targetstrip);
        assert(memcmp(&first.ip, &again.ip, sizeof(first.ip)) == 0);
        record_fini(&again);
    }
    buf_fini(&json);
    record_fini(&first);
    return 0;
}
