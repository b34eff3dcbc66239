/* utc_time.h: RFC 3339 in both directions; another text is no time. */
#include "common/base/utc_time.h"

#include "tests/support/unit_test.h"

UNIT_TEST(test_times_of_the_api)
{
    static const struct {
        const char *text;
        int64_t us;
    } cases[] = {
        {"2024-05-01T12:00:00Z", 1714564800000000},
        {"2024-05-01T12:00:00.123456789Z", 1714564800123456},
        {"2024-05-01T12:00:00.5Z", 1714564800500000},
        {"2024-05-01T14:00:00.25+02:00", 1714564800250000},
        {"2024-05-01T08:30:00-03:30", 1714564800000000},
        {"1970-01-01T00:00:01Z", 1000000},
        {"9999-12-31T23:59:59.999999Z", 253402300799999999},
        /* Not after 1970 */
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01T00:30:00+01:00", 0},
        {"1969-12-31T23:59:59Z", 0},
        /* Other texts */
        {"", 0},
        {"2024-05-01", 0},
        {"2024-05-01T12:00:00", 0},
        {"2024-05-01T12:00:00.Z", 0},
        {"2024-05-01T12:00:00ZZ", 0},
        {"2024-05-01T12:00:00Z ", 0},
        {" 2024-05-01T12:00:00Z", 0},
        {"2024-05-01t12:00:00Z", 0},
        {"2024-13-01T12:00:00Z", 0},
        {"2024-05-00T12:00:00Z", 0},
        {"2024-05-01T24:00:00Z", 0},
        {"2024-05-01T12:60:00Z", 0},
        {"2024-05-01T12:00:61Z", 0},
        {"2024-05-01T12:00:00+2:00", 0},
        {"2024-05-01T12:00:00+24:00", 0},
        {"-024-05-01T12:00:00Z", 0},
        {"+2024-05-01T12:00:00Z", 0},
        {"20240501T120000Z", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t us = utc_time_parse_us(slice_str(cases[i].text));
        assert_that(us == cases[i].us, "%s: %lld", cases[i].text, (long long)us);
        assert_int_equal(utc_time_parse_s(cases[i].text), cases[i].us / 1000000);
    }
}

/* Each cut of a text that is a time, with a byte after it that the parser must not read. */
UNIT_TEST(test_cut_times)
{
    static const char text[] = "2024-05-01T12:00:00.123+02:00";
    for (size_t len = 0; len < sizeof(text) - 1; len++) {
        assert_int_equal(utc_time_parse_us(slice_of(text, len)), 0);
    }
    assert_true(utc_time_parse_us(slice_str(text)) > 0);
}

UNIT_TEST(test_times_are_written_as_they_are_read)
{
    static const char *const texts[] = {"2024-05-01T12:00:00.000000Z",
                                        "1999-12-31T23:59:59.000009Z"};
    CLEANUP_BUF struct buf out = buf_of(100);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        buf_clear(&out);
        utc_time_append(utc_time_parse_us(slice_str(texts[i])), &out);
        assert_string_equal(buf_cstr(&out), texts[i]);
    }
}
