/* The bytes that a connection holds: in order, however they come and go; its memory; its limit. */
#include <stdlib.h>
#include <string.h>

#include "skydns/streams/tcp_output_internal.h"
#include "skydns/streams/tcp_server.h"
#include "tests/support/unit_test.h"

enum { BLOCK = 64 << 10 };

static uint8_t bytes[4 * BLOCK];

static void number_bytes(size_t from)
{
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)((from + i) * 7 % 251);
    }
}

/* Lets the socket take up to `most` bytes, the next of them all. */
static size_t tcp_output_take(struct tcp_output *output, size_t taken, size_t most)
{
    const struct slice next = tcp_output_next(output);
    const size_t len = next.len < most ? next.len : most;
    assert_in_range(next.len, 1, BLOCK);
    for (size_t i = 0; i < len; i++) {
        assert_int_equal((uint8_t)next.ptr[i], (taken + i) * 7 % 251);
    }
    tcp_output_sent(output, len);
    return len;
}

UNIT_TEST(test_order_and_memory)
{
    struct tcp_output output = {0};
    size_t held = 0, taken = 0;
    srandom(1);
    for (unsigned i = 0; i < 2000; i++) {
        const size_t most = i % 3 ? 200 : sizeof(bytes), len = (size_t)random() % most;
        number_bytes(held);
        tcp_output_hold(&output, bytes, len);
        held += len;
        while (output.len > 0 && (random() % 4 || output.len > TCP_OUTPUT_MAX / 2)) {
            taken += tcp_output_take(&output, taken, 1 + (size_t)random() % BLOCK);
        }
        assert_int_equal(output.len, held - taken);
        assert_true(output.memory <= 2 * output.len + 2 * BLOCK + output.len / 64);
    }
    while (output.len > 0) {
        taken += tcp_output_take(&output, taken, BLOCK);
    }
    assert_int_equal(taken, held);
    assert_int_equal(output.memory, 0);
    assert_false(output.is_full);
}

/* Few bytes take little: most clients are slow by an answer or two. */
UNIT_TEST(test_little)
{
    struct tcp_output output = {0};
    tcp_output_hold(&output, bytes, 100);
    assert_in_range(output.memory, 100, 200);
    tcp_output_hold(&output, bytes, 0);
    assert_int_equal(output.len, 100);
    tcp_output_free(&output);
    assert_int_equal(output.memory, 0);
}

UNIT_TEST(test_limit)
{
    struct tcp_output output = {0};
    while (output.len + sizeof(bytes) <= TCP_OUTPUT_MAX) {
        tcp_output_hold(&output, bytes, sizeof(bytes));
        assert_false(output.is_full);
    }
    const size_t held = output.len;
    tcp_output_hold(&output, bytes, TCP_OUTPUT_MAX - held + 1);
    assert_true(output.is_full);
    assert_int_equal(output.len, held);
    tcp_output_free(&output);
}
