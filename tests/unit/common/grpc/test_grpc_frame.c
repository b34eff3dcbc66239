/* Table-driven tests of common/grpc/grpc_frame_internal.h. */
#include "common/grpc/grpc_frame_internal.h"
#include "tests/support/unit_test.h"

UNIT_TEST(test_percent_decode)
{
    static const struct {
        const char *in, *want;
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"a%20b", "a b"},
        {"%41%4a%4A", "AJJ"},
        {"100%", "100%"},
        {"%4", "%4"},
        {"%zz%41", "%zzA"},
        {"%%41", "%A"},
        {"line%0Abreak%00end%7f", "line break end "},
        {"%C3%A4", "\xc3\xa4"},
        {"0123456789012345678901234567890123456789", "0123456789012345678901234567890"},
        {"0123456789012345678901234567890%41", "0123456789012345678901234567890"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char out[32];
        assert_string_equal(grpc_percent_decode(slice_str(cases[i].in), out, sizeof(out)),
                            cases[i].want);
    }
}

UNIT_TEST(test_status)
{
    static const struct {
        const char *in;
        int want;
    } cases[] = {{"0", 0},   {"7", 7},    {"16", 16}, {"00", 0},  {"17", -1},
                 {"99", -1}, {"100", -1}, {"", -1},   {"-1", -1}, {"1x", -1}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(grpc_status_parse(slice_str(cases[i].in)), cases[i].want);
    }
    assert_string_equal(grpc_status_text(7), "permission denied");
    assert_string_equal(grpc_status_text(-1), "no grpc-status");
    assert_int_equal(grpc_status_code(4), ERR_TIMEOUT);
    assert_int_equal(grpc_status_code(14), ERR_UNAVAILABLE);
    assert_int_equal(grpc_status_code(3), ERR_REFUSED);
    assert_int_equal(grpc_status_code(99), ERR_PROTOCOL);
}

/* Pieces of any size give the same messages. */
UNIT_TEST(test_frames_in_pieces)
{
    static const char wire[] = "\0\0\0\0\3abc\0\0\0\0\0\0\0\0\0\1x";
    static const char *const want[] = {"abc", "", "x"};
    const size_t len = sizeof(wire) - 1;
    for (size_t piece = 1; piece <= len; piece++) {
        CLEANUP(grpc_frames_fini) struct grpc_frames frames;
        size_t count = 0;
        grpc_frames_init(&frames, 100);
        for (size_t at = 0; at < len; at += piece) {
            struct slice message;
            grpc_frames_push(&frames, slice_of(wire + at, len - at < piece ? len - at : piece));
            int rc;
            while ((rc = grpc_frames_next(&frames, &message, NULL)) > 0) {
                assert_in_range(count, 0, ARRAY_LEN(want) - 1);
                assert_true(slice_equal(message, slice_str(want[count])));
                count++;
            }
            assert_int_equal(rc, 0);
        }
        assert_int_equal(count, ARRAY_LEN(want));
        assert_false(grpc_frames_is_partial(&frames));
        grpc_frames_push(&frames, slice_of("\0", 1));
        assert_true(grpc_frames_is_partial(&frames));
    }
}

UNIT_TEST(test_frames_refused)
{
    static const struct {
        const char *in;
        size_t len;
        int want;
        const char *text;
    } cases[] = {
        {"\1", 1, ERR_PROTOCOL, "compressed"},
        {"\2", 1, ERR_PROTOCOL, "flag byte 2"},
        {"\0\0\0\0\145", 5, ERR_TOO_LARGE, "message of 101 bytes, at most 100"},
        {"\0\377\377\377\377", 5, ERR_TOO_LARGE, "message of 4294967295 bytes"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(grpc_frames_fini) struct grpc_frames frames;
        struct slice message;
        struct err err;
        grpc_frames_init(&frames, 100);
        grpc_frames_push(&frames, slice_of(cases[i].in, cases[i].len));
        assert_int_equal(grpc_frames_next(&frames, &message, &err), cases[i].want);
        assert_non_null(strstr(err.msg, cases[i].text));
    }
}
