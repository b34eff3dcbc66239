/* Any bytes as a section of a snapshot: the first says which. What is accepted is saved as the same
 * bytes, so nothing in it was passed over. */
#include "common/base/buf.h"
#include "skydns/publish/engine_config.h"
#include "skydns/sync/broken.h"
#include "skydns/sync/client_marks_internal.h"
#include "skydns/sync/revision_marks.h"
#include "skydns/sync/store_keys.h"
#include "skydns/sync/writer_documents.h"
#include "tests/fuzz/fuzz_target.h"

enum { SAVED_MAX = 64 << 20 };

static void snapshot_sections_check(bool is_loaded, bool is_saved, struct slice saved,
                                    struct buf *again)
{
    fuzz_check(is_loaded == is_saved && (!is_loaded || slice_equal(saved, buf_slice(again))));
    buf_fini(again);
}

static bool count_key(void *data, const struct broken_key *key)
{
    size_t *count = data;
    *count += key->key.len <= BROKEN_KEY_MAX && key->mod_revision > 0;
    return true;
}

static void broken_keys(struct slice saved)
{
    struct broken_table *table = broken_new();
    struct buf again;
    size_t count = 0;
    buf_init(&again, SAVED_MAX);
    bool is_loaded = broken_load(table, saved);
    broken_each(table, count_key, &count);
    fuzz_check(broken_count(table) <= BROKEN_MAX && count == broken_count(table));
    broken_save(table, &again);
    snapshot_sections_check(is_loaded, broken_is_saved(saved), saved, &again);
    broken_free(table);
}

/* Without domains in force, so without etcd. */
static void store_keys(struct slice saved)
{
    struct store_keys *keys = store_keys_new(&(struct store_keys_config){.is_required = false});
    struct buf again;
    buf_init(&again, SAVED_MAX);
    bool is_loaded = store_keys_load(keys, saved);
    store_keys_save(keys, &again);
    snapshot_sections_check(is_loaded, store_keys_is_saved(saved), saved, &again);
    store_keys_free(keys);
}

/* These cannot be loaded without etcd. */
static void snapshot_sections_documents(struct slice saved)
{
    fuzz_check(!writer_documents_is_saved(saved) ||
               (saved.len != 0 && saved.ptr[0] <= ENGINE_ZONES_MAX));
}

/* Likewise. */
static void snapshot_sections_clients(struct slice saved)
{
    fuzz_check(!client_marks_is_saved(saved) || saved.len <= 0 ||
               (uint8_t)saved.ptr[0] <= ENGINE_ZONES_MAX);
}

/* Likewise. */
static void snapshot_sections_client_records(struct slice saved)
{
    fuzz_check(!client_marks_are_records_saved(saved) || saved.len <= 0 ||
               (uint8_t)saved.ptr[0] <= ENGINE_ZONES_MAX);
}

/* Those that are too old when they are loaded are dropped. */
static void snapshot_sections_marks(struct slice saved)
{
    struct revision_marks *marks = revision_marks_new();
    CLEANUP_BUF struct buf again = buf_of(SAVED_MAX);
    if (revision_marks_is_saved(saved)) {
        revision_marks_load(marks, saved);
        revision_marks_save(marks, &again);
        fuzz_check(revision_marks_is_saved(buf_slice(&again)) && again.len <= saved.len &&
                   (again.len == 0) == (saved.len == 0) &&
                   (again.len <= 0 ||
                    memcmp(again.data, saved.ptr + (saved.len - again.len), again.len) == 0));
    }
    revision_marks_free(marks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const sections[])(struct slice saved) = {broken_keys,
                                                           store_keys,
                                                           snapshot_sections_documents,
                                                           snapshot_sections_clients,
                                                           snapshot_sections_client_records,
                                                           snapshot_sections_marks};
    if (size > 0 && data[0] < sizeof(sections) / sizeof(sections[0])) {
        sections[data[0]](slice_of(data + 1, size - 1));
    }
    return 0;
}
