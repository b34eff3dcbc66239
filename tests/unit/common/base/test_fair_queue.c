/* Tests whose turn it is. */
#include "common/base/fair_queue.h"
#include "tests/support/unit_test.h"

enum { MANY = 5000 };

struct thing {
    struct fair_item item;
    unsigned number;
};

static void base_fair_queue_push(struct fair_queue *queue, struct thing *thing, uint8_t client,
                                 unsigned number)
{
    *thing = (struct thing){.item.net.bytes[15] = client, .number = number};
    fair_queue_push(queue, &thing->item);
}

static unsigned base_fair_queue_pop(struct fair_queue *queue)
{
    const struct thing *thing = (const struct thing *)(void *)fair_queue_pop(queue);
    assert_non_null(thing);
    return thing->number;
}

UNIT_FIXTURE(struct fair_queue, fair_queue_init, fair_queue_fini)

/* Each in its client's order, one of each client a round. */
UNIT_TEST_ON(test_clients_take_turns, struct fair_queue *queue)
{
    static const uint8_t clients[] = {1, 1, 1, 2, 1, 3, 2};
    static const unsigned want[] = {0, 3, 5, 1, 6, 2, 4};
    struct thing things[7];
    assert_null(fair_queue_pop(queue));
    for (unsigned i = 0; i < 7; i++) {
        base_fair_queue_push(queue, &things[i], clients[i], i);
    }
    for (unsigned i = 0; i < 7; i++) {
        assert_int_equal(base_fair_queue_pop(queue), want[i]);
    }
    assert_null(fair_queue_pop(queue));
}

/* Whoever comes while a client has thousands queued waits for one of them; and so again each time.
 */
UNIT_TEST_ON(test_a_flood_delays_others_by_one, struct fair_queue *queue)
{
    static struct thing flood[MANY];
    struct thing one;
    for (unsigned i = 0; i < MANY; i++) {
        base_fair_queue_push(queue, &flood[i], 1, i);
    }
    for (unsigned i = 0; i < MANY / 2; i++) {
        base_fair_queue_push(queue, &one, 2, MANY);
        assert_int_equal(base_fair_queue_pop(queue), i);
        assert_int_equal(base_fair_queue_pop(queue), MANY);
    }
    for (unsigned i = MANY / 2; i < MANY; i++) {
        assert_int_equal(base_fair_queue_pop(queue), i);
    }
    assert_null(fair_queue_pop(queue));
}

/* Also the only one of its client, and the one whose turn it is. */
UNIT_TEST_ON(test_one_is_taken_out, struct fair_queue *queue)
{
    struct thing things[4], alone;
    for (unsigned i = 0; i < 4; i++) {
        base_fair_queue_push(queue, &things[i], 1, i);
    }
    base_fair_queue_push(queue, &alone, 2, MANY);
    fair_queue_remove(queue, &things[0].item);
    fair_queue_remove(queue, &things[2].item);
    assert_int_equal(base_fair_queue_pop(queue), 1);
    fair_queue_remove(queue, &alone.item);
    assert_int_equal(base_fair_queue_pop(queue), 3);
    assert_null(fair_queue_pop(queue));
}
