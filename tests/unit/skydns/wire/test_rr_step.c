/* Steps over records: names of every kind are passed by, and no step leaves the bytes. */
#include "common/base/cursor.h"
#include "skydns/wire/rr_step.h"
#include "tests/support/unit_test.h"

/* w. MX of a pointer; the root with a TTL whose top bit is set; x.w. by label and pointer. */
static const uint8_t records[] = {
    1, 'w', 0,    0, 15, 0,    1, 0, 0, 1, 0, 0, 4, 0, 10, 0xc0, 0, /* 17 bytes */
    0, 0,   41,   4, 0,  0x80, 0, 0, 1, 0, 0,                       /* 11 */
    1, 'x', 0xc0, 0, 0,  1,    0, 3, 0, 0, 0, 9, 0, 1, 7,           /* 15 */
};

UNIT_TEST(test_records)
{
    static const struct rr_step want[] = {
        {.type = 15, .rr_class = 1, .ttl_s = 256, .data_at = 13, .data_len = 4},
        {.type = 41, .rr_class = 1024, .ttl_s = 0, .data_at = 28, .data_len = 0},
        {.type = 1, .rr_class = 3, .ttl_s = 9, .data_at = 42, .data_len = 1},
    };
    static const size_t ends[] = {17, 28, 43};
    for (size_t len = 0; len <= sizeof(records); len++) {
        struct reader r = reader_of(records, len);
        struct rr_step got;
        size_t n = 0;
        while (n < 3 && rr_step_next(&r, &got)) {
            assert_int_equal(got.type, want[n].type);
            assert_int_equal(got.rr_class, want[n].rr_class);
            assert_int_equal(got.ttl_s, want[n].ttl_s);
            assert_int_equal(got.data_at, want[n].data_at);
            assert_int_equal(got.data_len, want[n].data_len);
            assert_int_equal(r.pos, ends[n]);
            n++;
        }
        assert_int_equal(n, (len >= ends[0]) + (len >= ends[1]) + (len >= ends[2]));
        assert_int_equal(r.failed, n < 3);
    }
}

UNIT_TEST(test_questions)
{
    static const uint8_t question[] = {2, 'a', 'b', 0, 0, 1, 0, 1};
    for (size_t len = 0; len <= sizeof(question); len++) {
        struct reader r = reader_of(question, len);
        assert_int_equal(rr_step_question(&r), len == sizeof(question));
        assert_int_equal(r.failed, len < sizeof(question));
    }
}
