/* Any bytes as kube2sky's client records: puts, deletes, full reads and commits. The index has what
 * there is, and nothing else; what is kept is the same after it was saved and loaded. */
#include <assert.h>

#include "common/base/buf.h"
#include "common/base/cursor.h"
#include "common/dns/record_json.h"
#include "skydns/clients/client_index.h"
#include "skydns/sync/client_marks_internal.h"
#include "skydns/sync/record_keys_internal.h"
#include "skydns/sync/record_value_internal.h"
#include "tests/fuzz/fuzz_target.h"

static void retire_record_block(void *data, void *block, void (*fn)(void *block))
{
    assert(!data);
    fn(block); /* there are no readers */
}

static struct client_index *index_of_records(void)
{
    return client_index_new(&(struct client_index_config){.retire = retire_record_block});
}

static void check_shown(const struct record_keys *keys)
{
    const struct client_record *record;
    for (size_t at = 0; (record = key_table_next(&keys->records, &at)); at++) {
        struct client_description shown;
        bool is_shown = client_index_describe(keys->index, &record->ip, &shown);
        assert(is_shown && slice_equal(shown.ns, client_record_describe(record).ns));
        assert(!record_value_refusal(&shown));
    }
    assert(client_index_counts(keys->index).addresses == keys->records.count);
}

static void check_saved_records(const struct record_keys *keys)
{
    struct client_index *index = index_of_records();
    struct record_keys loaded;
    CLEANUP_BUF struct buf saved = buf_of(SIZE_MAX);
    record_keys_save(keys, &saved);
    record_keys_init(&loaded, index);
    struct reader reader = reader_of(saved.data, saved.len), again = reader;
    bool is_loaded = record_keys_load(&loaded, &reader);
    assert(is_loaded && reader_left(&reader) == 0 && record_keys_load(NULL, &again));
    (void)record_keys_commit(&loaded, false, true);
    assert(loaded.records.count == keys->records.count);
    check_shown(&loaded);
    record_keys_fini(&loaded);
    client_index_free(index);
}

static struct slice read_short_text(struct reader *reader)
{
    uint8_t len = reader_u8(reader);
    const uint8_t *bytes = reader_take(reader, len);
    return slice_of(bytes ? (const char *)bytes : "", bytes ? len : 0);
}

/* Returns false at the end. */
static bool step_records(struct record_keys *keys, struct reader *reader)
{
    uint8_t what = reader_u8(reader);
    if (reader->failed) {
        return false;
    }
    if (what == 'p') {
        struct slice label = read_short_text(reader);
        (void)record_keys_put(keys, label, read_short_text(reader)); /* also what is refused */
    } else if (what == 'd') {
        record_keys_del(keys, read_short_text(reader));
    } else if (what == 'f' || what == 'k') {
        record_keys_begin(keys, what == 'k');
    } else {
        (void)record_keys_commit(keys, what == 'C', true);
        client_index_commit(keys->index);
        check_shown(keys);
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader reader = reader_of(data, size);
    struct client_index *index = index_of_records();
    struct record_keys keys;
    record_json_use_xalloc();
    record_keys_init(&keys, index);
    while (step_records(&keys, &reader)) {
    }
    (void)record_keys_commit(&keys, false, true);
    check_shown(&keys);
    check_saved_records(&keys);
    record_keys_fini(&keys);
    client_index_free(index);
    return 0;
}
