/* Copies of queries, and the ring between two threads: order, the limits, turns, nothing lost. */
#include <pthread.h>
#include <sched.h>

#include "skydns/resolver/deferred.h"
#include "tests/support/unit_test.h"

UNIT_TESTS_HAVE_THREADS

enum { HEADER = 12, ROOT = 1, QUERY = HEADER + ROOT + 4 };

/* Defers a query as the engine has parsed it. */
static struct deferred *defer_bytes(struct engine_query query, enum engine_deferral_kind kind,
                                    const struct deferred_origin *origin)
{
    struct query parsed;
    query_parse(query.wire, query.len, &parsed);
    query.parsed = &parsed;
    return deferred_new(&query, kind, origin);
}

/* The smallest query there is; the number is its type and class. */
static struct deferred *deferred_numbered(uint32_t number, uint32_t client)
{
    const struct addr nobody = {.len = 0};
    const struct addr from = {.v4 = {.sin_family = AF_INET, .sin_addr.s_addr = client},
                              .len = sizeof(from.v4)};
    uint8_t wire[QUERY] = {[5] = 1};
    const struct engine_query query = {
        .wire = wire, .len = sizeof(wire), .client = &from, .local = &nobody};
    const struct deferred_origin origin = {.to = NULL};
    memcpy(wire + HEADER + ROOT, &number, sizeof(number));
    return defer_bytes(query, ENGINE_DEFER_FORWARD, &origin);
}

static uint32_t deferred_number_of(const struct deferred *d)
{
    uint32_t number;
    memcpy(&number, d->query.bytes + HEADER + ROOT, sizeof(number));
    return number;
}

UNIT_TEST(test_everything_is_copied)
{
    uint8_t wire[QUERY] = {1, 2, 1, [5] = 1, [14] = 28, [16] = 1}, same[QUERY];
    struct addr client = {.v4 = {.sin_family = AF_INET, .sin_port = 1}, .len = sizeof(client.v4)};
    struct addr local = {.v4 = {.sin_family = AF_INET, .sin_port = 2}, .len = sizeof(local.v4)};
    struct engine_query query = {.wire = wire, .len = QUERY, .client = &client, .local = &local};
    struct deferred_origin origin = {.tcp = {.slot = 4, .generation = 5}};
    memcpy(same, wire, QUERY);
    struct deferred *d = defer_bytes(query, ENGINE_DEFER_SCAN, &origin);
    assert_int_equal(d->kind, ENGINE_DEFER_SCAN);
    memset(wire, 0, sizeof(wire));
    memset(&client, 0, sizeof(client));
    memset(&local, 0, sizeof(local));
    memset(&origin, 0, sizeof(origin));
    assert_memory_equal(d->query.bytes, same, QUERY);
    assert_int_equal(d->query.client.v4.sin_port, 1);
    assert_int_equal(d->query.local.v4.sin_port, 2);
    assert_int_equal(d->origin.tcp.slot, 4);
    assert_int_equal(d->origin.tcp.generation, 5);
    deferred_free(d);
    deferred_free(NULL);
}

/* The largest message, nearly all of it a record that no answer depends on. */
UNIT_TEST(test_a_long_query_is_not_cached_whole)
{
    enum { LONGEST = 65535, RECORD = 11 };
    static uint8_t wire[LONGEST] = {[2] = 1, [5] = 1, [9] = 1, [14] = 1, [16] = 1};
    const struct addr nobody = {.len = 0};
    const struct engine_query query = {
        .wire = wire, .len = LONGEST, .client = &nobody, .local = &nobody};
    const struct deferred_origin origin = {.to = NULL};
    const size_t data_len = LONGEST - QUERY - RECORD;
    wire[QUERY + RECORD - 2] = (uint8_t)(data_len >> 8);
    wire[QUERY + RECORD - 1] = (uint8_t)data_len;
    struct deferred *d = defer_bytes(query, ENGINE_DEFER_FORWARD, &origin);
    assert_int_equal(owned_query_size(&d->query), offsetof(struct owned_query, bytes) + QUERY);
    deferred_free(d);
}

/* Whatever the answer depends on, in no more memory than is said, wherever the bytes were. */
UNIT_TEST(test_what_is_owned)
{
    enum { OPTIONS = 24 + 5 + 44 + 4 + 4, SIZE = HEADER + DNAME_MAX + 4 + EDNS_OPT_SIZE + OPTIONS };
    uint8_t wire[SIZE] = {7, 8, 1, 0x10, [5] = 1, [11] = 1}, *at = wire + HEADER;
    const struct addr nobody = {.len = 0};
    const struct deferred_origin origin = {.to = NULL};
    struct question before;
    struct query after;
    static const uint8_t options[OPTIONS] = {0,  8, 0, 20,       0,  2, 128, [24] = 0xfd, 0xf3,
                                             0,  1, 1, [29] = 0, 10, 0, 40,  1,           [73] = 0,
                                             11, 0, 0, 0,        12, 0, 0};
    for (; at < wire + HEADER + DNAME_MAX - 1; at += 2) {
        at[0] = 1;
        at[1] = 'A';
    }
    at[2] = at[4] = 1; /* type and class, behind the root */
    edns_write_opt(at + 5, 4096, 0, true);
    at[5 + 10] = OPTIONS;
    memcpy(at + 5 + EDNS_OPT_SIZE, options, OPTIONS);
    assert_int_equal(question_parse(wire, SIZE, &before), QUESTION_OK);
    const struct engine_query query = {
        .wire = wire, .len = SIZE, .client = &nobody, .local = &nobody};
    struct deferred *d = defer_bytes(query, ENGINE_DEFER_FORWARD, &origin);
    memset(wire, 0xff, SIZE);
    assert_true(offsetof(struct deferred, query) + owned_query_size(&d->query) <= 600);
    owned_query_read(&d->query, &after);
    const struct question *q = query_question(&after);
    assert_int_equal(q->id, 0x0708);
    assert_true(q->recursion_desired && q->checking_disabled && !q->wants_authentic);
    assert_int_equal(q->name.len, DNAME_MAX);
    assert_memory_equal(q->name.wire, before.name.wire, DNAME_MAX);
    assert_int_equal(q->type, 1);
    assert_int_equal(q->qclass, 1);
    assert_true(q->has_edns && q->dnssec_ok && q->is_from_stub);
    assert_int_equal(q->udp_size, 4096);
    assert_int_equal(q->asks, before.asks);
    assert_int_equal(q->subnet_len, 24);
    assert_memory_equal(q->subnet, options, 24);
    assert_int_equal(q->cookie.len, COOKIE_CLIENT_SIZE); /* one of 40 bytes is not ours */
    assert_memory_equal(q->cookie.bytes, before.cookie.bytes, COOKIE_CLIENT_SIZE);
    deferred_free(d);
}

UNIT_TEST(test_ring_is_bounded_and_in_order)
{
    struct deferred_ring *ring = deferred_ring_new();
    assert_null(deferred_ring_pop(ring));
    for (uint32_t i = 0; i < DEFERRED_RING_SIZE; i++) {
        assert_true(deferred_ring_push(ring, deferred_numbered(i, i)));
    }
    struct deferred *one_more = deferred_numbered(DEFERRED_RING_SIZE, DEFERRED_RING_SIZE);
    assert_false(deferred_ring_push(ring, one_more));
    struct deferred *first = deferred_ring_pop(ring);
    assert_int_equal(deferred_number_of(first), 0);
    deferred_free(first);
    assert_true(deferred_ring_push(ring, one_more));
    for (uint32_t i = 1; i <= DEFERRED_RING_SIZE / 2; i++) {
        struct deferred *d = deferred_ring_pop(ring);
        assert_int_equal(deferred_number_of(d), i);
        deferred_free(d);
    }
    deferred_ring_free(ring); /* and the remaining half */
    deferred_ring_free(NULL);
}

/* Half of it if it is alone, and again once those are gone; whoever comes later has half of the
 * rest. */
UNIT_TEST(test_a_client_has_its_share)
{
    struct deferred_ring *ring = deferred_ring_new();
    struct deferred *d;
    uint32_t count = 0;
    for (int round = 0; round < 2; round++) {
        size_t room = DEFERRED_RING_SIZE;
        for (uint32_t client = 1; client <= 3; client++) {
            for (count = 0; deferred_ring_push(ring, d = deferred_numbered(count, client));
                 count++) {
            }
            deferred_free(d);
            assert_int_equal(count, room / 2);
            room -= count;
            assert_int_equal(deferred_ring_room(ring), room);
        }
        while ((d = deferred_ring_pop(ring))) {
            deferred_free(d);
        }
    }
    deferred_ring_free(ring);
}

/* However much one has there, another waits behind one of its queries. */
UNIT_TEST(test_clients_leave_in_turns)
{
    enum { BEHAVING = 2 };
    struct deferred_ring *ring = deferred_ring_new();
    struct deferred *d;
    for (uint32_t i = 0; deferred_ring_push(ring, d = deferred_numbered(i, 1)); i++) {
    }
    deferred_free(d);
    deferred_free(deferred_ring_pop(ring)); /* the others are seen by now */
    for (uint32_t i = 0; i < BEHAVING; i++) {
        assert_true(deferred_ring_push(ring, deferred_numbered(i, 2)));
    }
    for (uint32_t i = 0; i < 2 * BEHAVING; i++) {
        d = deferred_ring_pop(ring);
        assert_int_equal(d->query.client.v4.sin_addr.s_addr, 1 + i % 2);
        assert_int_equal(deferred_number_of(d), i % 2 ? i / 2 : 1 + i / 2);
        deferred_free(d);
    }
    deferred_ring_free(ring);
}

enum { PASSED_ON = 100000 };

static void *deferred_produce(void *data)
{
    struct deferred_ring *ring = data;
    for (uint32_t i = 0; i < PASSED_ON; i++) {
        struct deferred *d = deferred_numbered(i, 1);
        while (!deferred_ring_push(ring, d)) {
            sched_yield();
        }
    }
    return NULL;
}

UNIT_TEST(test_between_two_threads)
{
    struct deferred_ring *ring = deferred_ring_new();
    pthread_t producer;
    assert_int_equal(pthread_create(&producer, NULL, deferred_produce, ring), 0);
    for (uint32_t i = 0; i < PASSED_ON;) {
        struct deferred *d = deferred_ring_pop(ring);
        if (!d) {
            sched_yield();
            continue;
        }
        assert_int_equal(deferred_number_of(d), i);
        deferred_free(d);
        i++;
    }
    assert_int_equal(pthread_join(producer, NULL), 0);
    assert_null(deferred_ring_pop(ring));
    deferred_ring_free(ring);
}
