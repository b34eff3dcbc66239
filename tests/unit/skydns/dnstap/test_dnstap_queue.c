/* dnstap's queue: order, the end of the ring, what finds no room; and two threads at it. */
#include <pthread.h>
#include <sched.h>

#include "skydns/dnstap/dnstap_queue_internal.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_HAVE_THREADS

enum { FRAMES = 50000, LEN_MAX = 3000, PEEKED = 16 };

/* Returns the length of the n-th frame. */
static size_t dnstap_queue_length(uint32_t n)
{
    return sizeof(n) + n * 7919 % (LEN_MAX - sizeof(n));
}

static bool dnstap_queue_put(struct dnstap_queue *queue, uint32_t n)
{
    uint8_t *frame = dnstap_queue_begin(queue, LEN_MAX);
    if (!frame) {
        return false;
    }
    memset(frame, (int)(n & 0xff), dnstap_queue_length(n));
    memcpy(frame, &n, sizeof(n));
    dnstap_queue_commit(queue, frame, dnstap_queue_length(n));
    return true;
}

static void dnstap_queue_check(struct slice frame, uint32_t n)
{
    uint32_t found;
    assert_int_equal(frame.len, dnstap_queue_length(n));
    memcpy(&found, frame.ptr, sizeof(found));
    assert_int_equal(found, n);
    assert_int_equal((uint8_t)frame.ptr[frame.len - 1],
                     dnstap_queue_length(n) > 4 ? n & 0xff : n >> 24);
}

UNIT_FIXTURE_MADE(dnstap_queue_new(), dnstap_queue_free)

UNIT_TEST_ON(keeps_order_and_drops, struct dnstap_queue *queue)
{
    struct slice frames[PEEKED];
    uint32_t in = 0, out = 0;
    uint64_t end;
    size_t count;
    for (int round = 0; round < 50; round++) {
        assert_true(dnstap_queue_put(queue, in));
        for (in++; dnstap_queue_put(queue, in); in++) {
        }
        assert_int_equal(counter_get(&queue->dropped), round + 1);
        assert_false(dnstap_queue_is_empty(queue));
        while ((count = dnstap_queue_peek(queue, frames, PEEKED, &end)) > 0) {
            for (size_t i = 0; i < count; i++) {
                dnstap_queue_check(frames[i], out++);
            }
            dnstap_queue_drop(queue, end);
        }
        assert_int_equal(out, in);
        assert_true(dnstap_queue_is_empty(queue));
    }
}

/* Frames as long as a DNS message can be: 15 fit, wherever the ring begins. */
UNIT_TEST_ON(has_room_for_the_longest, struct dnstap_queue *queue)
{
    struct slice frames[PEEKED];
    uint64_t end;
    for (int i = 0; i < 1000; i++) {
        uint8_t *frame = dnstap_queue_begin(queue, 66500);
        assert_non_null(frame);
        frame[66499] = (uint8_t)i;
        dnstap_queue_commit(queue, frame, 66500);
        if (i >= 10) {
            assert_int_equal(dnstap_queue_peek(queue, frames, 1, &end), 1);
            assert_int_equal((uint8_t)frames[0].ptr[66499], (uint8_t)(i - 10));
            dnstap_queue_drop(queue, end);
        }
    }
}

static void *dnstap_queue_write_all(void *queue)
{
    for (uint32_t n = 0; n < FRAMES; n++) {
        while (!dnstap_queue_put(queue, n)) {
            sched_yield();
        }
    }
    return NULL;
}

UNIT_TEST_ON(two_threads, struct dnstap_queue *queue)
{
    struct slice frames[PEEKED];
    pthread_t writer;
    uint64_t end;
    assert_int_equal(pthread_create(&writer, NULL, dnstap_queue_write_all, queue), 0);
    for (uint32_t out = 0; out < FRAMES;) {
        size_t count = dnstap_queue_peek(queue, frames, PEEKED, &end);
        for (size_t i = 0; i < count; i++) {
            dnstap_queue_check(frames[i], out++);
        }
        dnstap_queue_drop(queue, end);
        if (count == 0) {
            sched_yield();
        }
    }
    assert_int_equal(pthread_join(writer, NULL), 0);
    assert_true(dnstap_queue_is_empty(queue));
}
