/* Records as text: each form of common/dns/rr_types.h, and what is not as its type has it. */
#include "skydns/wire/rr_text.h"
#include "tests/support/unit_test.h"

enum { OWNER = 3 }; /* "w." */

static void rr_text_check_text(uint16_t type, struct slice data, const char *want)
{
    uint8_t message[512] = {0};
    struct writer w = writer_of(message, sizeof(message));
    CLEANUP_BUF struct buf out = buf_of(RR_TEXT_MAX);
    (void)writer_take(&w, DNS_HEADER_SIZE);
    writer_bytes(&w, "\1w", OWNER);
    writer_u16(&w, type);
    writer_u16(&w, DNS_CLASS_IN);
    writer_u32(&w, 9);
    writer_u16(&w, (uint16_t)data.len);
    writer_bytes(&w, data.ptr, data.len);
    struct reader r = reader_of(message, w.pos);
    reader_seek(&r, DNS_HEADER_SIZE);
    assert_true(rr_text_read(&r, &out));
    assert_int_equal(r.pos, w.pos);
    assert_string_equal(buf_cstr(&out), want);
}

#define DATA(text)             \
    {                          \
        text, sizeof(text) - 1 \
    }

UNIT_TEST(test_forms)
{
    static const struct {
        uint16_t type;
        struct slice data;
        const char *want;
    } rows[] = {
        {1, DATA("\12\0\0\1"), "w. 9 A 10.0.0.1"},
        {1, DATA("\12\0\0"), "w. 9 A \\# 3 0a0000"},
        {1, DATA("\12\0\0\1\0"), "w. 9 A \\# 5 0a00000100"},
        {28, DATA("\375\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"), "w. 9 AAAA fd00::1"},
        {2, DATA("\1a\300\14"), "w. 9 NS a.w."},
        {39, DATA("\1a\0"), "w. 9 DNAME a."},
        {6, DATA("\1a\0\1b\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5"), "w. 9 SOA a. b. 1 2 3 4 5"},
        {15, DATA("\0\12\1a\0"), "w. 9 MX 10 a."},
        {15, DATA("\0\12"), "w. 9 MX \\# 2 000a"},
        {33, DATA("\0\1\0\2\0\3\1a\0"), "w. 9 SRV 1 2 3 a."},
        {16, DATA("\2a\""), "w. 9 TXT \"a\\034\""},
        {16, DATA("\1a\0\1b"), "w. 9 TXT \"a\" \"\" \"b\""},
        {16, DATA("\1a\2b"), "w. 9 TXT \\# 4 01610262"},
        {16, DATA(""), "w. 9 TXT \\# 0"},
        {13, DATA("\1a\0"), "w. 9 HINFO \"a\" \"\""},
        {35, DATA("\0\1\0\2\1u\1s\0\0"), "w. 9 NAPTR 1 2 \"u\" \"s\" \"\" ."},
        {43, DATA("\1\2\3\4\253\315"), "w. 9 DS 258 3 4 abcd"},
        {257, DATA("\0\5issueca.example"), "w. 9 CAA 0 issue \"ca.example\""},
        {257, DATA("\0\5is ue"), "w. 9 CAA \\# 7 00056973207565"},
        {65, DATA("\0\1\0"), "w. 9 HTTPS \\# 3 000100"},
        {300, DATA("\1"), "w. 9 TYPE300 \\# 1 01"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        rr_text_check_text(rows[i].type, rows[i].data, rows[i].want);
    }
}

/* A record of an answer: the same text as of its message; a long text is several strings. */
UNIT_TEST(test_answers)
{
    static const struct answer_soa soa = {
        .mname = {"\1m", 3}, .rname = {"\1r", 3}, .serial = 7, .minimum_s = 60};
    char text[256], want[300] = "w. 9 TXT \"";
    struct rr rr = {.owner = slice_of("\1w", OWNER), .ttl_s = 9, .type = RR_TXT};
    memset(text, 'x', sizeof(text));
    memset(want + 10, 'x', 255);
    memcpy(want + 10 + 255, "\" \"x\"", sizeof("\" \"x\""));
    rr.data = slice_of(text, sizeof(text));
    CLEANUP_BUF struct buf out = buf_of(RR_TEXT_MAX);
    rr_text(&rr, &soa, &out);
    assert_string_equal(buf_cstr(&out), want);
    buf_clear(&out);
    rr.type = RR_SOA;
    rr.data = slice_of(NULL, 0);
    rr_text(&rr, &soa, &out);
    assert_string_equal(buf_cstr(&out), "w. 9 SOA m. r. 7 28800 7200 604800 60");
    buf_clear(&out);
    rr = (struct rr){.owner = rr.owner,
                     .ttl_s = 9,
                     .type = RR_SRV,
                     .priority = 1,
                     .weight = 2,
                     .port = 3,
                     .data = slice_of("\1a", OWNER)};
    rr_text(&rr, &soa, &out);
    assert_string_equal(buf_cstr(&out), "w. 9 SRV 1 2 3 a.");
}

/* At no cut of a record is there one. */
UNIT_TEST(test_cuts)
{
    static const char whole[] = "\1w\0\0\1\0\1\0\0\0\11\0\4\12\0\0\1";
    for (size_t len = 0; len < sizeof(whole) - 1; len++) {
        struct reader r = reader_of(whole, len);
        CLEANUP_BUF struct buf out = buf_of(RR_TEXT_MAX);
        assert_false(rr_text_read(&r, &out));
    }
}
