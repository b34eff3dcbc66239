/* JSON strings from any bytes. */
#include "common/base/json_text.h"
#include "tests/support/unit_test.h"

UNIT_TEST(test_strings)
{
    static const struct {
        struct slice bytes;
        const char *want;
    } rows[] = {
        {{"", 0}, "\"\""},
        {{"a b", 3}, "\"a b\""},
        {{"\"\\/", 3}, "\"\\\"\\\\/\""},
        {{"\n\0\x7f", 3}, "\"\\u000a\\u0000\\u007f\""},
        {{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9}, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {{"\xff", 1}, "\"\xef\xbf\xbd\""},
        {{"\xc3", 1}, "\"\xef\xbf\xbd\""},                                 /* cut */
        {{"\xc0\xaf", 2}, "\"\xef\xbf\xbd\xef\xbf\xbd\""},                 /* overlong */
        {{"\xed\xa0\x80", 3}, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* a surrogate */
        {{"\xe2\x82x", 3}, "\"\xef\xbf\xbd\xef\xbf\xbdx\""},
        {{"\xf4\x90\x80\x80", 4}, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP_BUF struct buf out = buf_of(1000);
        json_text_string(&out, rows[i].bytes);
        assert_string_equal(buf_cstr(&out), rows[i].want);
    }
}

UNIT_TEST(test_fields)
{
    CLEANUP_BUF struct buf out = buf_of(1000);
    json_text_open(&out, NULL, '{');
    json_text_string_field(&out, "why", "a \"b\"");
    json_text_number_field(&out, "count", UINT64_MAX);
    json_text_integer_field(&out, "lag", INT64_MIN);
    json_text_flag_field(&out, "is", true);
    json_text_time_fields(&out, 1777605120001);
    json_text_open(&out, "list", '[');
    json_text_slice_field(&out, NULL, slice_str(""));
    json_text_flag_field(&out, NULL, false);
    buf_append_str(&out, ",\n");
    json_text_open(&out, NULL, '{');
    buf_append_str(&out, "}]}");
    assert_string_equal(buf_cstr(&out),
                        "{\"why\":\"a \\\"b\\\"\",\"count\":18446744073709551615,"
                        "\"lag\":-9223372036854775808,\"is\":true,"
                        "\"time\":\"2026-05-01T03:12:00.001Z\",\"time_ms\":1777605120001,"
                        "\"list\":[\"\",false,\n{}]}");
}
