#include "common/base/cursor.h"

#include "common/base/buf.h"
#include "tests/support/unit_test.h"

UNIT_TEST(test_reads_big_endian)
{
    static const uint8_t data[] = {1, 2, 3, 0xff, 0xfe, 0xfd, 0xfc, 9};
    struct reader r = reader_of(data, sizeof(data));
    assert_int_equal(reader_u8(&r), 1);
    assert_int_equal(reader_u16(&r), 0x0203);
    assert_int_equal(reader_u32(&r), 0xfffefdfc);
    assert_int_equal(reader_left(&r), 1);
    assert_ptr_equal(reader_take(&r, 1), data + 7);
    assert_int_equal(reader_left(&r), 0);
    assert_false(r.failed);
}

UNIT_TEST(test_read_past_the_end_fails_for_good)
{
    static const uint8_t data[] = {1, 2, 3};
    static const size_t lengths[] = {4, 5, SIZE_MAX, SIZE_MAX - 1};
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        struct reader r = reader_of(data, sizeof(data));
        assert_null(reader_take(&r, lengths[i]));
        assert_true(r.failed);
        assert_int_equal(reader_left(&r), 0);
        assert_int_equal(reader_u8(&r), 0); /* a byte is left, but the reader has failed */
        assert_null(reader_take(&r, 0));
    }
    struct reader r = reader_of(data, sizeof(data));
    assert_int_equal(reader_u16(&r), 0x0102);
    assert_int_equal(reader_u16(&r), 0);
    assert_true(r.failed);
    r = reader_of(data, sizeof(data));
    assert_int_equal(reader_u32(&r), 0);
    assert_true(r.failed);
}

/* Reads back all that buf.h appends; each part of it that lacks its end is refused. */
UNIT_TEST(test_reads_what_buf_appends)
{
    CLEANUP_BUF struct buf b = buf_of(100);
    buf_append_u8(&b, 0xfe);
    buf_append_u16(&b, 0xfedc);
    buf_append_u32(&b, 0xfedcba98);
    buf_append_u64(&b, 0xfedcba9876543210);
    buf_append_sized(&b, slice_str("some"));
    buf_append_sized(&b, slice_of(NULL, 0));
    assert_int_equal(b.len, 1 + 2 + 4 + 8 + 4 + 4 + 4);
    for (size_t len = 0; len <= b.len; len++) {
        struct reader r = reader_of(b.data, len);
        uint8_t u8 = reader_u8(&r);
        uint16_t u16 = reader_u16(&r);
        uint32_t u32 = reader_u32(&r);
        uint64_t u64 = reader_u64(&r);
        struct slice some = reader_sized(&r), none = reader_sized(&r);
        assert_int_equal(r.failed, len < b.len);
        assert_int_equal(none.len, 0);
        if (!r.failed) {
            assert_int_equal(u8, 0xfe);
            assert_int_equal(u16, 0xfedc);
            assert_int_equal(u32, 0xfedcba98);
            assert_true(u64 == 0xfedcba9876543210);
            assert_true(slice_equal(some, slice_str("some")));
        }
    }
}

/* A length that the bytes do not have, up to the largest, takes nothing. */
UNIT_TEST(test_sized_beyond_the_end)
{
    static const uint32_t lengths[] = {2, 255, UINT32_MAX};
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        CLEANUP_BUF struct buf b = buf_of(100);
        buf_append_u32(&b, lengths[i]);
        buf_append_u8(&b, 'x');
        struct reader r = reader_of(b.data, b.len);
        assert_int_equal(reader_sized(&r).len, 0);
        assert_true(r.failed);
    }
}

UNIT_TEST(test_seek)
{
    static const uint8_t data[] = {1, 2, 3};
    struct reader r = reader_of(data, sizeof(data));
    reader_seek(&r, 2);
    assert_int_equal(reader_u8(&r), 3);
    reader_seek(&r, 3); /* the end is a valid position */
    assert_false(r.failed);
    reader_seek(&r, 4);
    assert_true(r.failed);
    reader_seek(&r, 0);
    assert_int_equal(reader_u8(&r), 0);
}

UNIT_TEST(test_writes_big_endian)
{
    uint8_t data[9];
    memset(data, 0xaa, sizeof(data));
    struct writer w = writer_of(data, sizeof(data) - 1);
    writer_u8(&w, 1);
    writer_u16(&w, 0x0203);
    writer_u32(&w, 0xfffefdfc);
    writer_bytes(&w, "\x09", 1);
    writer_bytes(&w, NULL, 0);
    assert_false(w.failed);
    assert_int_equal(w.pos, 8);
    assert_memory_equal(data, "\x01\x02\x03\xff\xfe\xfd\xfc\x09\xaa", 9);
}

UNIT_TEST(test_write_past_the_end_fails_for_good)
{
    uint8_t data[4] = {0xaa, 0xaa, 0xaa, 0xaa};
    struct writer w = writer_of(data, 3);
    writer_u16(&w, 0x0102);
    writer_u16(&w, 0x0304); /* writes nothing */
    writer_u8(&w, 5);       /* would fit */
    assert_true(w.failed);
    assert_int_equal(w.pos, 2);
    assert_memory_equal(data, "\x01\x02\xaa\xaa", 4);
    w = writer_of(data, 3);
    assert_null(writer_take(&w, SIZE_MAX));
    assert_true(w.failed);
}
