#include "common/base/fair_queue.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/xalloc.h"

/* A client that waits for its turn, with what it has queued, in that order. */
struct fair_turn {
    TAILQ_ENTRY(fair_turn) entry;
    struct client_net net;
    TAILQ_HEAD(, fair_item) items; /* never empty */
};

static struct slice key_of(const void *turn)
{
    return client_net_key(&((const struct fair_turn *)turn)->net);
}

void fair_queue_init(struct fair_queue *queue)
{
    TAILQ_INIT(&queue->turns);
    key_table_init(&queue->by_client, key_of);
}

void fair_queue_fini(struct fair_queue *queue)
{
    assert(TAILQ_EMPTY(&queue->turns));
    key_table_fini(&queue->by_client);
}

void fair_queue_push(struct fair_queue *queue, struct fair_item *item)
{
    struct fair_turn *turn = key_table_find(&queue->by_client, client_net_key(&item->net));
    if (!turn) {
        turn = xcalloc(1, sizeof(*turn));
        turn->net = item->net;
        TAILQ_INIT(&turn->items);
        TAILQ_INSERT_TAIL(&queue->turns, turn, entry);
        (void)key_table_put(&queue->by_client, turn); /* replaces none */
    }
    TAILQ_INSERT_TAIL(&turn->items, item, entry);
}

/* A client with nothing left has no turn. */
static void take_item(struct fair_queue *queue, struct fair_turn *turn, struct fair_item *item)
{
    TAILQ_REMOVE(&turn->items, item, entry);
    if (TAILQ_EMPTY(&turn->items)) {
        TAILQ_REMOVE(&queue->turns, turn, entry);
        (void)key_table_take(&queue->by_client, client_net_key(&turn->net)); /* this one */
        free(turn);
    }
}

struct fair_item *fair_queue_pop(struct fair_queue *queue)
{
    struct fair_turn *turn = TAILQ_FIRST(&queue->turns);
    if (!turn) {
        return NULL;
    }
    struct fair_item *item = TAILQ_FIRST(&turn->items);
    TAILQ_REMOVE(&queue->turns, turn, entry);
    TAILQ_INSERT_TAIL(&queue->turns, turn, entry);
    take_item(queue, turn, item);
    return item;
}

void fair_queue_remove(struct fair_queue *queue, struct fair_item *item)
{
    struct fair_turn *turn = key_table_find(&queue->by_client, client_net_key(&item->net));
    assert(turn);
    take_item(queue, turn, item);
}
