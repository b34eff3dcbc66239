/* Any bytes as a snapshot, as they are, and with the checksum that they should have: what is
 * accepted encodes to bytes that decode to the same. */
#include <assert.h>

#include "common/base/seeded_hash.h"
#include "skydns/records/store.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/skydns/snapshots.h"

/* Writes the snapshot's content as text; empty: refused. */
static void snapshot_describe(struct slice bytes, struct buf *text, struct buf *again)
{
    const struct snapshot_now start = {.monotonic_s = UINT32_MAX}; /* ages stay as they are */
    struct snapshot_content content;
    struct store_garbage *garbage;
    struct err err = {0};
    int r = snapshots_decode(bytes, &start, &content, &err);
    assert(r == 0 || (r == ERR_SYNTAX && err.msg[0] != '\0'));
    if (r == 0) {
        snapshots_describe_content(&content, text);
        struct snapshot_image image = {.header = content.header};
        memcpy(image.sections, content.sections, sizeof(image.sections)); /* borrowed */
        image.store = store_writer_commit(content.writer, content.header.revision, &garbage);
        snapshots_encode(&image, UINT32_MAX, again);
        snapshot_content_fini(&content);
    }
}

static void snapshot_check(struct slice bytes)
{
    CLEANUP_BUF struct buf text = buf_of(SNAPSHOTS_MAX);
    CLEANUP_BUF struct buf bytes2 = buf_of(SNAPSHOTS_MAX);
    CLEANUP_BUF struct buf text2 = buf_of(SNAPSHOTS_MAX);
    CLEANUP_BUF struct buf bytes3 = buf_of(SNAPSHOTS_MAX);
    snapshot_describe(bytes, &text, &bytes2);
    if (text.len > 0) {
        snapshot_describe(buf_slice(&bytes2), &text2, &bytes3);
        assert(slice_equal(buf_slice(&text), buf_slice(&text2)));
        assert(slice_equal(buf_slice(&bytes2), buf_slice(&bytes3)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    seeded_hash_init();
    snapshot_check(slice_of(data, size));
    CLEANUP_BUF struct buf sealed = buf_of(SNAPSHOTS_MAX);
    buf_append(&sealed, data, size);
    snapshots_seal(&sealed);
    snapshot_check(buf_slice(&sealed));
    return 0;
}
