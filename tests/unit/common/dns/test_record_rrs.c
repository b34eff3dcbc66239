/* record_rrs: which texts are records, and what they are packed as. */
#include "common/dns/record_json.h"
#include "common/dns/record_rrs.h"
#include "tests/support/unit_test.h"

UNIT_TEST(test_packed)
{
    static const struct {
        const char *text;
        size_t len;
        const char *packed;
    } cases[] = {
        {"A 10.0.0.1", 8, "\0\1\0\4\12\0\0\1"},
        {"a 10.0.0.1", 8, "\0\1\0\4\12\0\0\1"},
        {"TYPE1 \\# 4 0a000001", 8, "\0\1\0\4\12\0\0\1"},
        {"TXT x \"y z\"", 10, "\0\20\0\6\1x\3y z"},
        {"MX 5 A.b.", 11, "\0\17\0\7\0\5\1A\1b"},
        {"MX ( 65535 a. )", 9, "\0\17\0\5\377\377\1a"},
        {"TYPE33 \\# 7 99999999999900", 11, "\0\41\0\7\231\231\231\231\231\231"},
        {"AFSDB 1 A.b.", 11, "\0\22\0\7\0\1\1a\1b"},
        {"HTTPS 1 . alpn=h2", 14, "\0\101\0\12\0\1\0\0\1\0\3\2h2"},
        {"TYPE65280 \\# 0", 4, "\377\0\0\0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        CLEANUP_BUF struct buf packed = buf_of(RECORD_RRS_MAX);
        assert_int_equal(record_rrs_add(slice_str(cases[i].text), &packed, &err), 0);
        assert_int_equal(packed.len, cases[i].len);
        assert_memory_equal(packed.data, cases[i].packed, packed.len);
        assert_true(record_rrs_are_packed(buf_slice(&packed)));
    }
}

UNIT_TEST(test_refused)
{
    static const char *const texts[] = {
        "",
        "A",
        "A 10.0.0",
        "SRV 1 2 70000 a.",
        "MX -1 a.",
        "CAA 256 issue \"a\"",
        "TLSA 3 1 257 00",
        "SOA a. b. 1 2 3 4 5",
        "NS a.",
        "CNAME a.",
        "DNAME a.",
        "OPT",
        "TSIG \\# 0",
        "DS 1 13 2 00",
        "NSEC a. A",
        "ANY \\# 0",
        "TYPE128 \\# 0",
        "TYPE0 \\# 0",
        "30 A 10.0.0.1",
        "IN A 1.2.3.4",
        "A 1.2.3.4\nA 1.2.3.5",
        "TYPE1 \\# 3 010203",
        "TYPE15 \\# 2 0001",
        "TYPE16 \\# 2 0500",
        "WKS 10.0.0.1 tcp smtp",
        "TYPE62 \\# 0",
        "TYPE63 \\# 0",

        "CDS 1 13 2 00",
        "NSEC3PARAM 1 0 0 -",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct err err = {0};
        CLEANUP_BUF struct buf packed = buf_of(RECORD_RRS_MAX);
        assert_int_equal(record_rrs_add(slice_str(texts[i]), &packed, &err), ERR_SYNTAX);
        assert_non_null(strstr(err.msg, "field `rr`"));
        assert_int_equal(packed.len, 0);
    }
}

/* A snapshot's rr, good and bad. */
UNIT_TEST(test_not_packed)
{
    static const struct {
        const char *bytes;
        size_t len;
    } cases[] = {
        {"\0", 1},         {"\0\1\0\4\12\0\0", 7}, {"\0\1\0\3\12\0\0", 7},
        {"\0\5\0\1\0", 5}, {"\0\17\0\3\0\1\7", 7},
    };
    assert_true(record_rrs_are_packed(slice_of(NULL, 0)));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_false(record_rrs_are_packed(slice_of(cases[i].bytes, cases[i].len)));
    }
}

UNIT_TEST(test_of_json)
{
    static const char json[] = "{\"host\":\"10.0.0.1\",\"rr\":[\"A 10.0.0.2\",\"A 10.0.0.3\"]}";
    struct record record, copy;
    struct err err = {0};
    assert_int_equal(record_from_json(slice_str(json), &record, &err), 0);
    assert_int_equal(record.rrs.len, 16);
    copy = record_copy(&record);
    assert_true(slice_equal(copy.rrs, record.rrs));
    record_fini(&copy);
    record_fini(&record);
    assert_true(record_from_json(slice_str("{\"rr\":\"A 10.0.0.2\"}"), &record, &err) < 0);
    assert_true(record_from_json(slice_str("{\"rr\":[1]}"), &record, &err) < 0);

    CLEANUP_BUF struct buf many = buf_of(RECORD_JSON_MAX);
    buf_append_str(&many, "{\"rr\":[\"A 10.0.0.1\"");
    for (unsigned i = 0; i < RECORD_RRS_COUNT_MAX; i++) {
        buf_append_str(&many, ",\"A 10.0.0.1\"");
    }
    buf_append_str(&many, "]}");
    assert_int_equal(record_from_json(buf_slice(&many), &record, &err), ERR_TOO_LARGE);
}

/* A value of 64 KiB may say more than a message holds. */
UNIT_TEST(test_too_long)
{
    struct err err = {0};
    int r = 0;
    CLEANUP_BUF struct buf packed = buf_of(2 * RECORD_RRS_MAX);
    for (size_t i = 0; i < RECORD_RRS_MAX && r == 0; i++) {
        r = record_rrs_add(slice_str("LOC 0 N 0 E 0"), &packed, &err);
    }
    assert_int_equal(r, ERR_TOO_LARGE);
    assert_true(packed.len <= RECORD_RRS_MAX && packed.len > RECORD_RRS_MAX - 100);
}
