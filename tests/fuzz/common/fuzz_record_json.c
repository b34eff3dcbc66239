/* Any bytes as a record's value: rejected with a message, or accepted, and then the record written
 * out reads back the same. The fast path accepts nothing that the slow path rejects, and returns
 * the same record. What `rr` has is packed, or the value is rejected. */
#include <assert.h>

#include "common/dns/record.h"
#include "common/dns/record_json.h"
#include "common/dns/record_rrs.h"
#include "common/dns/record_scan.h"
#include "tests/fuzz/fuzz_target.h"

static void check_scan(const struct record *scanned, const struct record *record)
{
    assert(slice_equal(scanned->host, record->host) && slice_equal(scanned->text, record->text));
    assert(slice_equal(scanned->group, record->group) && scanned->ttl_s == record->ttl_s);
    assert(scanned->port == record->port && scanned->priority == record->priority);
    assert(scanned->weight == record->weight && scanned->targetstrip == record->targetstrip);
    assert(scanned->mail == record->mail);
}

/* A text's bytes fit the room of the text; without escapes they are the text. */
static void record_json_check_text(struct slice text)
{
    static uint8_t bytes[RECORD_JSON_MAX];
    size_t len = txt_unescape(text, NULL);
    assert(len <= text.len && text.len <= sizeof(bytes) && txt_unescape(text, bytes) == len);
    assert(txt_has_escapes(text) || slice_equal(text, slice_of(bytes, len)));
    assert(!txt_has_escapes(text) || len < text.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct record first, again;
    struct record view;
    struct err err = {0};
    bool is_scanned = record_scan(slice_of(data, size), &view);
    if (record_from_json(slice_of(data, size), &first, &err) < 0) {
        assert(err.code < 0 && err.msg[0] && !is_scanned);
        return 0;
    }
    if (is_scanned) {
        check_scan(&view, &first);
    }
    record_json_check_text(first.text);
    assert(record_rrs_are_packed(first.rrs) && first.rrs.len <= RECORD_RRS_MAX);
    CLEANUP_BUF struct buf json = buf_of(16 * (size_t)RECORD_JSON_MAX);
    record_to_json(&first, &json);
    assert(!json.failed);
    if (json.len <= RECORD_JSON_MAX) {
        int r = record_from_json(buf_slice(&json), &again, NULL);
        assert(r == 0);
        assert(slice_equal(first.host, again.host) && first.port == again.port);
        assert(first.priority == again.priority && first.weight == again.weight);
        assert(first.ttl_s == again.ttl_s && first.targetstrip == again.targetstrip);
        record_fini(&again);
    }
    record_fini(&first);
    return 0;
}
