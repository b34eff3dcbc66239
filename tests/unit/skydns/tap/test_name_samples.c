/* name_samples: each sample that four threads put is taken whole and once, or counted as dropped.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "common/dns/dns.h"
#include "skydns/tap/query_tap.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_HAVE_THREADS

enum { PUTTERS = 4, EACH = 100000, ROOM = 64, LABEL = 8 };

static struct name_samples *samples;
static _Atomic unsigned putters_left;

/* Puts names of one label, all bytes of which are the thread's letter, with the sample's number as
 * address. */
static void *put_many(void *data)
{
    const unsigned number = (unsigned)(uintptr_t)data;
    uint8_t bytes[DNS_HEADER_SIZE + LABEL + 2 + DNS_QUESTION_TAIL] = {0};
    struct addr client = {.v4 = {.sin_family = AF_INET}, .len = sizeof(client.v4)};
    bytes[DNS_HEADER_SIZE] = LABEL;
    memset(bytes + DNS_HEADER_SIZE + 1, 'a' + (int)number, LABEL);
    bytes[DNS_HEADER_SIZE + LABEL + 2 + 1] = DNS_TYPE_A;
    const struct engine_query query = {.client = &client};
    const struct response response = {.bytes = bytes, .len = sizeof(bytes), .name_len = LABEL + 2};
    const struct query_seen seen = {.query = &query, .response = &response};
    for (uint32_t i = 0; i < EACH; i++) {
        client.v4.sin_addr.s_addr = i;
        name_samples_put(samples, &seen);
    }
    (void)atomic_fetch_sub(&putters_left, 1);
    return NULL;
}

UNIT_TEST(test_threads)
{
    pthread_t threads[PUTTERS];
    struct name_sample sample;
    uint32_t next[PUTTERS] = {0}; /* the least number that may still come of each */
    uint64_t taken = 0;
    bool is_over = false;
    samples = name_samples_new(ROOM);
    atomic_store(&putters_left, PUTTERS);
    for (uintptr_t i = 0; i < PUTTERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, put_many, (void *)i), 0);
    }
    while (!is_over) {
        is_over = atomic_load(&putters_left) == 0; /* what is taken now was the last */
        while (name_samples_take(samples, &sample)) {
            uint32_t number;
            const unsigned putter = (unsigned)(sample.name.wire[1] - 'a');
            assert_in_range(putter, 0, PUTTERS - 1);
            for (unsigned i = 1; i <= LABEL; i++) {
                assert_int_equal(sample.name.wire[i], 'a' + putter);
            }
            memcpy(&number, sample.client.bytes, sizeof(number));
            assert_in_range(number, next[putter], EACH - 1);
            next[putter] = number + 1;
            taken++;
        }
        (void)sched_yield();
    }
    for (unsigned i = 0; i < PUTTERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(taken + name_samples_dropped(samples), PUTTERS * EACH);
    name_samples_free(samples);
}
