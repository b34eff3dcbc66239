/* Checks the order of the queue, with queries that wait before the threads start; the time limits;
 * the end while threads are busy. */
#include <sched.h>

#include "common/base/slice.h"
#include "skydns/engine/engine.h"
#include "skydns/publish/publisher.h"
#include "skydns/resolver/answer_pool.h"
#include "tests/support/from_text.h"
#include "tests/support/skydns/fixture.h"
#include "tests/support/skydns/owned.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_HAVE_THREADS

enum { TIMEOUT_MS = 60000, MANY = 2000 };

struct bed {
    struct fixture *f;
    struct publisher *publisher;
    struct engine *engines[POOL_THREADS_MAX];
    struct answer_pool *pool;
};

static void answer_pool_ignore(void *data)
{
}

static struct bed answer_pool_setup(unsigned threads, uint32_t wait_ms)
{
    struct bed b = {.f = fixture_new(NULL, 0), .publisher = publisher_new()};
    struct engine_config *config = xcalloc(1, sizeof(*config));
    struct answer_lane lanes[POOL_THREADS_MAX];
    *config = b.f->config;
    publisher_configure(b.publisher, config);
    for (unsigned i = 0; i < threads; i++) {
        b.engines[i] = engine_new(config);
        lanes[i] = (struct answer_lane){b.engines[i], publisher_reader_new(b.publisher)};
    }
    const struct answer_pool_config pool = {.name = "test",
                                            .lanes = lanes,
                                            .lane_count = threads,
                                            .nice = 10,
                                            .answer_ms = TIMEOUT_MS,
                                            .wait_ms = wait_ms,
                                            .wake = answer_pool_ignore};
    b.pool = answer_pool_new(&pool);
    fixture_query(b.f, "web.cluster.local. A");
    return b;
}

static void resolver_answer_pool_start(struct bed *b)
{
    struct err err;
    assert_int_equal(answer_pool_start(b->pool, &err), 0);
}

static void answer_pool_teardown(struct bed *b)
{
    answer_pool_stop(b->pool);
    answer_pool_free(b->pool);
    publisher_free(b->publisher);
    for (unsigned i = 0; i < POOL_THREADS_MAX; i++) {
        engine_free(b->engines[i]);
    }
    fixture_free(b->f);
}

static void resolver_answer_pool_push(struct bed *b, const char *client_text, size_t number)
{
    struct ip ip = ip_from(client_text);
    struct addr client = addr_of_ip(&ip, 53);
    struct engine_query query = {
        .wire = b->f->query, .len = b->f->query_len, .client = &client, .local = &client};
    union owned_query_room room;
    assert_true(own_query(b->f->engine, &query, &room));
    answer_pool_push(b->pool, pooled_query_new(&room.query, (void *)(uintptr_t)(number + 1)));
}

static struct pooled_query *resolver_answer_pool_pop(struct bed *b)
{
    struct pooled_query *query;
    while (!(query = answer_pool_pop(b->pool))) {
        (void)sched_yield();
    }
    return query;
}

static size_t answer_pool_number_of(const struct pooled_query *query)
{
    return (size_t)(uintptr_t)query->data - 1;
}

/* Pushes one query from each of these addresses, and returns their places in the order in which
 * they are answered. */
static void answer_all(const char *const *clients, size_t count, size_t *ret_order)
{
    struct bed b = answer_pool_setup(1, TIMEOUT_MS);
    for (size_t i = 0; i < count; i++) {
        resolver_answer_pool_push(&b, clients[i], i);
    }
    resolver_answer_pool_start(&b);
    for (size_t i = 0; i < count; i++) {
        struct pooled_query *query = resolver_answer_pool_pop(&b);
        assert_int_equal(query->verdict, ENGINE_REPLY);
        ret_order[i] = answer_pool_number_of(query);
        pooled_query_free(query);
    }
    answer_pool_teardown(&b);
}

/* A client that asks for one waits for no client's second. */
UNIT_TEST(test_clients_take_turns)
{
    static const char *const clients[] = {"10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.2",
                                          "10.0.0.1", "10.0.0.3", "10.0.0.2"};
    static const size_t want[] = {0, 3, 5, 1, 6, 2, 4};
    size_t order[7];
    answer_all(clients, 7, order);
    assert_memory_equal(order, want, sizeof(want));
}

/* All addresses of one IPv6 network of 64 bits are one client. */
UNIT_TEST(test_a_network_takes_one_turn)
{
    static const char *const clients[] = {"fd00::1", "fd00::2", "fd00::3", "fd00:0:0:1::1"};
    static const size_t want[] = {0, 3, 1, 2};
    size_t order[4];
    answer_all(clients, 4, order);
    assert_memory_equal(order, want, sizeof(want));
}

/* Several threads answer each query once. */
UNIT_TEST(test_threads_share)
{
    static bool is_answered[MANY];
    struct bed b = answer_pool_setup(POOL_THREADS_MAX, TIMEOUT_MS);
    resolver_answer_pool_start(&b);
    for (size_t i = 0; i < MANY; i++) {
        resolver_answer_pool_push(&b, i % 3 ? "10.0.0.1" : "10.0.0.2", i);
    }
    for (size_t i = 0; i < MANY; i++) {
        struct pooled_query *query = resolver_answer_pool_pop(&b);
        assert_int_equal(query->verdict, ENGINE_REPLY);
        assert_false(query->is_refused);
        assert_false(is_answered[answer_pool_number_of(query)]);
        is_answered[answer_pool_number_of(query)] = true;
        pooled_query_free(query);
    }
    assert_null(answer_pool_pop(b.pool));
    answer_pool_teardown(&b);
}

/* Its client has asked again. What is refused is given back, and may be pushed again. */
UNIT_TEST(test_late_is_refused)
{
    struct bed b = answer_pool_setup(2, 0);
    resolver_answer_pool_push(&b, "10.0.0.1", 0);
    resolver_answer_pool_start(&b);
    for (int i = 0; i < 2; i++) {
        struct pooled_query *query = resolver_answer_pool_pop(&b);
        assert_true(query->is_refused);
        assert_null(query->response.bytes);
        answer_pool_push(b.pool, query);
    }
    answer_pool_teardown(&b);
}

/* Frees the queued queries, and those that were not popped. */
UNIT_TEST(test_stops_while_busy)
{
    for (size_t round = 0; round < 20; round++) {
        struct bed b = answer_pool_setup(POOL_THREADS_MAX, TIMEOUT_MS);
        resolver_answer_pool_start(&b);
        for (size_t i = 0; i < 20 * round; i++) {
            resolver_answer_pool_push(&b, "10.0.0.1", i);
        }
        answer_pool_teardown(&b);
    }
    answer_pool_free(NULL);
    pooled_query_free(NULL);
}
