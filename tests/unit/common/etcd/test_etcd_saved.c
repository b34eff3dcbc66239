/* common/etcd/etcd_saved_internal.h: what comes back is what was appended, or nothing. */
#include "common/etcd/etcd_mirror.h"
#include "common/etcd/etcd_saved_internal.h"
#include "tests/support/unit_test.h"

enum { BYTES_MAX = 3 << 20 };

static struct etcd_saved etcd_saved_full(void)
{
    return (struct etcd_saved){
        .revision = 900,
        .written = 7,
        .id = slice_str("0123"),
        .put = {.key = slice_str("/s/a"),
                .value = slice_str("v"),
                .create_revision = 3,
                .mod_revision = 900,
                .version = 5},
        .del = {.key = slice_str("/s/b"), .mod_revision = 899},
        .last = {.revision = 898, .puts = UINT64_MAX, .dels = 1},
        .serial = {.is_there = true, .value = UINT32_MAX},
        .wants_read = true,
        .is_holding = true,
        .held_ms = 1500,
        .saved_s = 1800000000,
        .doubted_id = slice_str("old"),
    };
}

static bool round_trip(const struct etcd_saved *saved, struct etcd_saved *ret)
{
    static struct buf bytes; /* the slices of *ret point into it */
    buf_fini(&bytes);
    buf_init(&bytes, BYTES_MAX);
    etcd_saved_append(saved, &bytes);
    assert_false(bytes.failed);
    return etcd_saved_read(buf_slice(&bytes), ret);
}

UNIT_TEST(test_all_comes_back)
{
    struct etcd_saved saved = etcd_saved_full(), back;
    assert_true(round_trip(&saved, &back));
    assert_int_equal(back.revision, 900);
    assert_int_equal(back.written, 7);
    assert_true(slice_equal(back.id, saved.id));
    assert_true(slice_equal(back.put.key, saved.put.key));
    assert_true(slice_equal(back.put.value, saved.put.value));
    assert_int_equal(back.put.create_revision, 3);
    assert_int_equal(back.put.mod_revision, 900);
    assert_int_equal(back.put.version, 5);
    assert_true(slice_equal(back.del.key, saved.del.key));
    assert_int_equal(back.del.mod_revision, 899);
    assert_int_equal(back.last.revision, 898);
    assert_true(back.last.puts == UINT64_MAX && back.last.dels == 1);
    assert_true(back.serial.is_there && back.serial.value == UINT32_MAX);
    assert_true(back.wants_read && back.is_holding);
    assert_int_equal(back.held_ms, 1500);
    assert_int_equal(back.saved_s, 1800000000);
    assert_true(slice_equal(back.doubted_id, saved.doubted_id));

    saved = (struct etcd_saved){.revision = 1};
    assert_true(round_trip(&saved, &back));
    assert_int_equal(back.put.mod_revision + back.del.mod_revision + back.last.revision, 0);
    assert_false(back.wants_read || back.is_holding || back.serial.is_there);
}

/* No writer makes these; a watch from them would never see an event. */
UNIT_TEST(test_nonsense_is_refused)
{
    struct etcd_saved back, bad[13];
    size_t n = 0;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        bad[i] = etcd_saved_full();
    }
    bad[n++].revision = 0;
    bad[n++].revision = 898; /* older than its witnesses */
    bad[n++].revision = INT64_MAX;
    bad[n++].revision = -1;
    bad[n++].written = -1;
    bad[n++].put.key.len = 0;
    bad[n++].put.create_revision = 901;
    bad[n++].put.version = 0;
    bad[n++].del.key.len = 0;
    bad[n++].last.revision = 901;
    bad[n++].last.revision = -1;
    bad[n++].held_ms = -1;
    bad[n++].saved_s = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        assert_false(round_trip(&bad[i], &back));
    }
    assert_false(etcd_saved_read(slice_of(NULL, 0), &back));
}

UNIT_TEST(test_cut_off_longer_or_of_another_format)
{
    struct etcd_saved saved = etcd_saved_full(), back;
    CLEANUP_BUF struct buf bytes = buf_of(BYTES_MAX);
    etcd_saved_append(&saved, &bytes);
    for (size_t len = 0; len < bytes.len; len++) {
        assert_false(etcd_saved_read(slice_of(bytes.data, len), &back));
    }
    assert_true(etcd_saved_read(buf_slice(&bytes), &back));
    bytes.data[0]++; /* the format */
    assert_false(etcd_saved_read(buf_slice(&bytes), &back));
    bytes.data[0]--;
    bytes.data[1] |= 64; /* an unknown flag */
    assert_false(etcd_saved_read(buf_slice(&bytes), &back));
    bytes.data[1] &= 63;
    buf_append_char(&bytes, '\0');
    assert_false(etcd_saved_read(buf_slice(&bytes), &back));
}

/* A text longer than etcd takes. */
UNIT_TEST(test_too_long)
{
    static char text[(2 << 20) + 1];
    struct etcd_saved saved = etcd_saved_full(), back;
    memset(text, 'x', sizeof(text));
    saved.put.value = slice_of(text, sizeof(text) - 1);
    assert_true(round_trip(&saved, &back));
    saved.put.value.len++;
    assert_false(round_trip(&saved, &back));
    saved = etcd_saved_full();
    saved.id = slice_of(text, sizeof(text));
    assert_false(round_trip(&saved, &back));
    saved = etcd_saved_full();
    saved.doubted_id = slice_of(text, sizeof(text));
    assert_false(round_trip(&saved, &back));
}

UNIT_TEST(test_holding_goes_on)
{
    const struct etcd_saved saved = etcd_saved_full();
    assert_int_equal(etcd_saved_held_ms(&saved, saved.saved_s), 1500);
    assert_int_equal(etcd_saved_held_ms(&saved, saved.saved_s + 60), 61500);
    assert_int_equal(etcd_saved_held_ms(&saved, saved.saved_s - 60), 1500);
}

UNIT_TEST(test_with_another_store_key)
{
    struct etcd_saved saved = etcd_saved_full(), back;
    const struct slice id = slice_str("4567");
    CLEANUP_BUF struct buf bytes = buf_of(BYTES_MAX);
    CLEANUP_BUF struct buf other = buf_of(BYTES_MAX);
    etcd_saved_append(&saved, &bytes); /* holds old keys */
    assert_false(etcd_mirror_saved_with_key(buf_slice(&bytes), id, &other));
    assert_false(etcd_mirror_saved_with_key(slice_str("x"), id, &other));
    assert_int_equal(other.len, 0);
    saved.is_holding = false;
    buf_clear(&bytes);
    etcd_saved_append(&saved, &bytes);
    assert_true(etcd_mirror_saved_with_key(buf_slice(&bytes), id, &other));
    assert_true(etcd_saved_read(buf_slice(&other), &back));
    assert_true(slice_equal(back.id, id));
    assert_int_equal(back.revision, 900);
    assert_true(slice_equal(back.put.key, saved.put.key));
    assert_true(back.wants_read);
}
