/* Messages out of a stream, split anywhere. */
#include "skydns/upstream/frame_reader_internal.h"
#include "tests/support/unit_test.h"

struct seen {
    size_t count;
    size_t stop_at; /* the reader stops with this one; 0: never */
    size_t lens[8];
    uint8_t firsts[8]; /* bytes */
};

static bool frame_reader_see(void *data, const uint8_t *message, size_t len)
{
    struct seen *seen = data;
    assert_true(seen->count < 8);
    seen->firsts[seen->count] = len ? message[0] : 0;
    seen->lens[seen->count++] = len;
    return seen->count != seen->stop_at;
}

/* 3 bytes, none, one, the longest there is. */
static uint8_t stream[2 + 3 + 2 + 2 + 1 + 2 + UINT16_MAX] = {0, 3, 'a', 'b',  'c',  0,  0,
                                                             0, 1, 'd', 0xff, 0xff, 'e'};

static void frame_reader_expect_all(const struct seen *seen)
{
    static const size_t lens[] = {3, 0, 1, UINT16_MAX};
    static const uint8_t firsts[] = {'a', 0, 'd', 'e'};
    assert_int_equal(seen->count, 4);
    assert_memory_equal(seen->lens, lens, sizeof(lens));
    assert_memory_equal(seen->firsts, firsts, sizeof(firsts));
}

UNIT_TEST(test_split)
{
    for (size_t step = 1; step <= sizeof(stream); step = step < 20 ? step + 1 : step * 3) {
        CLEANUP(frame_reader_fini) struct frame_reader reader;
        struct seen seen = {.count = 0};
        frame_reader_init(&reader);
        for (size_t at = 0; at < sizeof(stream); at += step) {
            size_t left = sizeof(stream) - at;
            assert_true(frame_reader_take(&reader, stream + at, left < step ? left : step,
                                          frame_reader_see, &seen));
        }
        frame_reader_expect_all(&seen);
        assert_null(reader.held.data); /* an idle one keeps no memory */
    }
}

/* Nothing is passed after the one that stops it, held or not. */
UNIT_TEST(test_stops)
{
    for (size_t first = 1; first < 10; first++) {
        CLEANUP(frame_reader_fini) struct frame_reader reader;
        struct seen seen = {.stop_at = 2};
        frame_reader_init(&reader);
        bool goes_on =
            frame_reader_take(&reader, stream, first, frame_reader_see, &seen) &&
            frame_reader_take(&reader, stream + first, 12 - first, frame_reader_see, &seen);
        assert_false(goes_on);
        assert_int_equal(seen.count, 2);
    }
}
