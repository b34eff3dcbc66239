/* Flipped bits and cuts: the whole is refused. With the checksum made right again, whatever is left
 * is refused, or is a store that holds together. */
#include <inttypes.h>

#include "tests/support/skydns/services.h"
#include "tests/support/skydns/snapshots.h"
#include "tests/support/unit_test.h"

enum { FLIPS = 500, CUTS = 500, SEALED_FLIPS = 1000, SERVICES = 1400, NOW_S = INT32_MAX };

static const struct snapshot_now now = {.monotonic_s = NOW_S, .unix_ms = 1760704496000};

/* splitmix64 */
static uint64_t snapshot_damage_random_next(void)
{
    static uint64_t state;
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Makes records of Services, in two blocks. */
static void make_services(struct buf *out)
{
    CLEANUP(services_fini) struct services services;
    struct store_garbage *garbage;
    struct snapshot_image image;
    services_init(&services, SERVICES);
    snapshots_random_image(&image, 1, services_fill(&services, &garbage));
    snapshots_encode(&image, NOW_S, out);
    snapshot_image_fini(&image);
    store_garbage_free(garbage);
}

/* Makes all kinds of records, and empty sections, so that most flips hit records. */
static void make_mixed(struct buf *out)
{
    struct store_writer *writer = store_writer_new();
    struct snapshot_image image;
    snapshots_random_image(&image, 2, snapshots_random_store(writer, 2, 60, 9));
    for (size_t i = 0; i < SNAPSHOT_SECTIONS; i++) {
        buf_clear(&image.sections[i]);
    }
    snapshots_encode(&image, NOW_S, out);
    snapshot_image_fini(&image);
    store_writer_free(writer);
}

static int snapshot_damage_decode(struct slice bytes)
{
    struct snapshot_content content = {.records = 0};
    struct err err = {0};
    int r = snapshots_decode(bytes, &now, &content, &err);
    if (r == 0) {
        CLEANUP_BUF struct buf text = buf_of(SNAPSHOTS_MAX);
        snapshots_describe_content(&content, &text); /* walks it all */
        snapshot_content_fini(&content);
    } else {
        assert_int_equal(r, ERR_SYNTAX);
        assert_true(err.msg[0] != '\0');
        assert_null(content.writer); /* untouched */
    }
    return r;
}

static void snapshot_damage_flip(struct buf *bytes, uint64_t bit)
{
    bytes->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
}

UNIT_TEST(test_flips)
{
    CLEANUP_BUF struct buf bytes = buf_of(SNAPSHOTS_MAX);
    make_services(&bytes);
    assert_int_equal(snapshot_damage_decode(buf_slice(&bytes)), 0);
    for (unsigned i = 0; i < FLIPS; i++) {
        uint64_t bit = snapshot_damage_random_next() % (bytes.len * 8);
        snapshot_damage_flip(&bytes, bit);
        assert_that(snapshot_damage_decode(buf_slice(&bytes)) != 0,
                    "bit %" PRIu64 " flipped, and not seen", bit);
        snapshot_damage_flip(&bytes, bit);
    }
    assert_int_equal(snapshot_damage_decode(buf_slice(&bytes)), 0);
}

/* Each in a block of its own, so that asan sees a byte read behind it. */
static void check_cut(const struct buf *bytes, size_t len)
{
    CLEANUP_FREE uint8_t *copy = malloc(len);
    assert_true(copy || len == 0);
    memcpy(copy, bytes->data, len);
    assert_that(snapshot_damage_decode(slice_of(copy, len)) != 0,
                "cut after %zu of %zu bytes, and not seen", len, bytes->len);
}

UNIT_TEST(test_cuts)
{
    enum { ENDS = 100 };
    CLEANUP_BUF struct buf bytes = buf_of(SNAPSHOTS_MAX);
    make_services(&bytes);
    for (unsigned i = 0; i < CUTS; i++) {
        check_cut(&bytes, 1 + snapshot_damage_random_next() % (bytes.len - 1));
    }
    for (size_t i = 1; i < ENDS; i++) {
        check_cut(&bytes, i);
        check_cut(&bytes, bytes.len - i);
    }
    buf_append_u8(&bytes, 0);
    assert_int_equal(snapshot_damage_decode(buf_slice(&bytes)), ERR_SYNTAX);
}

UNIT_TEST(test_sealed_flips)
{
    unsigned accepted = 0;
    CLEANUP_BUF struct buf bytes = buf_of(SNAPSHOTS_MAX);
    make_mixed(&bytes);
    for (unsigned i = 0; i < SEALED_FLIPS; i++) {
        uint64_t bit = snapshot_damage_random_next() % ((bytes.len - sizeof(uint64_t)) * 8);
        snapshot_damage_flip(&bytes, bit);
        snapshots_seal(&bytes);
        accepted += snapshot_damage_decode(buf_slice(&bytes)) == 0;
        snapshot_damage_flip(&bytes, bit);
    }
    assert_in_range(accepted, 1, SEALED_FLIPS - 1); /* a TTL may be anything, a length not */
}
