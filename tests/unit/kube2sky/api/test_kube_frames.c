/* The frame splitter: the same events, however the bytes are split. */
#include "kube2sky/api/kube_frames_internal.h"
#include "tests/support/unit_test.h"

/* Pushes a piece and writes the frames it completes, each followed by '|'. */
static void kube_frames_feed(struct kube_frames *frames, struct slice piece, struct buf *out)
{
    struct slice frame;
    kube_frames_push(frames, piece);
    while (kube_frames_next(frames, &frame)) {
        buf_append_slice(out, frame);
        buf_append_char(out, '|');
    }
}

static const struct {
    enum kube_encoding encoding;
    struct slice text;
    const char *want;
} cases[] = {
#define TEXT(literal)                \
    {                                \
        literal, sizeof(literal) - 1 \
    }
    {KUBE_JSON, TEXT("one\n\nthree 3\nx\nunfinished"), "one|three 3|x|"},
    {KUBE_PROTOBUF, TEXT("\0\0\0\3one\0\0\0\0\0\0\0\7three 3\0\0\0\1x\0\0\0\20unfinished"),
     "one|three 3|x|"},
    {KUBE_PROTOBUF, TEXT("\0\0\0\4o\n\0e\0\0\0\2ab\0\0"), "o\n\0e|ab|"},
};

static size_t want_len(size_t i)
{
    return i == 2 ? 8 : strlen(cases[i].want);
}

UNIT_TEST(test_every_cut)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct slice text = cases[i].text;
        for (size_t a = 0; a <= text.len; a++) {
            for (size_t b = a; b <= text.len; b++) {
                CLEANUP(kube_frames_fini) struct kube_frames frames;
                kube_frames_init(&frames, cases[i].encoding);
                CLEANUP_BUF struct buf out = buf_of(1024);
                kube_frames_feed(&frames, slice_of(text.ptr, a), &out);
                kube_frames_feed(&frames, slice_of(text.ptr + a, b - a), &out);
                kube_frames_feed(&frames, slice_of(text.ptr + b, text.len - b), &out);
                assert_false(frames.failed);
                assert_that(slice_equal(buf_slice(&out), slice_of(cases[i].want, want_len(i))),
                            "%zu cut at %zu and %zu: got %s", i, a, b, buf_cstr(&out));
            }
        }
    }
}

UNIT_TEST(test_byte_by_byte)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(kube_frames_fini) struct kube_frames frames;
        kube_frames_init(&frames, cases[i].encoding);
        CLEANUP_BUF struct buf out = buf_of(1024);
        for (size_t j = 0; j < cases[i].text.len; j++) {
            kube_frames_feed(&frames, slice_of(cases[i].text.ptr + j, 1), &out);
        }
        assert_true(slice_equal(buf_slice(&out), slice_of(cases[i].want, want_len(i))));
    }
}

/* A line of exactly the limit passes, one byte more does not, whole or in pieces. */
UNIT_TEST(test_line_limit)
{
    CLEANUP_FREE char *text = xmalloc(KUBE_FRAME_MAX + 2);
    memset(text, 'x', KUBE_FRAME_MAX + 1);
    for (size_t len = KUBE_FRAME_MAX; len <= KUBE_FRAME_MAX + 1; len++) {
        for (size_t cut = 0; cut <= len; cut += len / 2) {
            struct kube_frames frames;
            struct slice frame;
            size_t count = 0;
            text[len] = '\n';
            kube_frames_init(&frames, KUBE_JSON);
            kube_frames_push(&frames, slice_of(text, cut));
            assert_false(kube_frames_next(&frames, &frame));
            kube_frames_push(&frames, slice_of(text + cut, len + 1 - cut));
            while (kube_frames_next(&frames, &frame)) {
                assert_int_equal(frame.len, len);
                count++;
            }
            assert_int_equal(count, len == KUBE_FRAME_MAX);
            assert_int_equal(frames.failed, len != KUBE_FRAME_MAX);
            kube_frames_fini(&frames);
            text[len] = 'x';
        }
    }
}

/* A message of exactly the limit passes; one that announces more fails before it arrives. */
UNIT_TEST(test_message_limit)
{
    CLEANUP_FREE char *text = xcalloc(1, 4 + KUBE_FRAME_MAX);
    struct kube_frames frames;
    struct slice frame;
    for (size_t cut = 0; cut <= 4 + KUBE_FRAME_MAX; cut += 2 + KUBE_FRAME_MAX / 2) {
        text[1] = (char)(KUBE_FRAME_MAX >> 16);
        kube_frames_init(&frames, KUBE_PROTOBUF);
        kube_frames_push(&frames, slice_of(text, cut));
        (void)kube_frames_next(&frames, &frame); /* true if already complete */
        kube_frames_push(&frames, slice_of(text + cut, 4 + KUBE_FRAME_MAX - cut));
        assert_true(cut == 4 + KUBE_FRAME_MAX || kube_frames_next(&frames, &frame));
        assert_int_equal(frame.len, KUBE_FRAME_MAX);
        assert_false(frames.failed);
        kube_frames_fini(&frames);
    }
    for (size_t cut = 0; cut <= 4; cut++) {
        kube_frames_init(&frames, KUBE_PROTOBUF);
        text[3] = 1;
        kube_frames_push(&frames, slice_of(text, cut));
        assert_false(kube_frames_next(&frames, &frame));
        kube_frames_push(&frames, slice_of(text + cut, 4 - cut));
        assert_false(kube_frames_next(&frames, &frame));
        assert_true(frames.failed);
        kube_frames_fini(&frames);
    }
}
