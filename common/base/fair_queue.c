#include "common/base/fair_queue.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/client_net.h"
#include "common/base/key_table.h"
#include "common/base/xalloc.h"

/* A client that waits for its turn, with its queued items in order. */
struct fair_turn {
    TAILQ_ENTRY(fair_turn) entry;
    struct client_net net;
    TAILQ_HEAD(, fair_item) items; /* never empty */
};

static struct slice fair_turn_key(const void *turn)
{
    return client_net_key(&((const struct fair_turn *)turn)->net);
}

void fair_queue_init(struct fair_queue *queue)
{
    TAILQ_INIT(&queue->turns);
    key_table_init(&queue->by_client, fair_turn_key);
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

/* Removes an item; a client with nothing left has no turn. */
static void fair_queue_take_item(struct fair_queue *queue, struct fair_turn *turn,
                                 struct fair_item *item)
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
    fair_queue_take_item(queue, turn, item);
    return item;
}

void fair_queue_remove(struct fair_queue *queue, struct fair_item *item)
{
    struct fair_turn *turn = key_table_find(&queue->by_client, client_net_key(&item->net));
    assert(turn);
    fair_queue_take_item(queue, turn, item);
}

/* ---- Loads ---- */

struct load {
    struct client_net net;
    size_t count;
};

struct client_loads {
    struct key_table table;
};

static struct slice client_load_key(const void *thing)
{
    return client_net_key(&((const struct load *)thing)->net);
}

struct client_loads *client_loads_new(void)
{
    struct client_loads *loads = xcalloc(1, sizeof(*loads));
    key_table_init(&loads->table, client_load_key);
    return loads;
}

void client_loads_free(struct client_loads *loads)
{
    if (!loads) {
        return;
    }
    for (size_t at = 0; key_table_next(&loads->table, &at); at++) {
        free(loads->table.slots[at]);
    }
    key_table_fini(&loads->table);
    free(loads);
}

static struct load *find_or_add(struct client_loads *loads, const struct addr *client)
{
    const struct client_net net = client_net_of(client);
    struct load *load = key_table_find(&loads->table, client_net_key(&net));
    if (!load) {
        load = xcalloc(1, sizeof(*load));
        load->net = net;
        (void)key_table_put(&loads->table, load); /* it was not there */
    }
    return load;
}

size_t client_loads_get(const struct client_loads *loads, const struct addr *client)
{
    const struct client_net net = client_net_of(client);
    const struct load *load = key_table_find(&loads->table, client_net_key(&net));
    return load ? load->count : 0;
}

size_t client_loads_add(struct client_loads *loads, const struct addr *client)
{
    return ++find_or_add(loads, client)->count;
}

bool client_loads_take(struct client_loads *loads, const struct addr *client, size_t free_places)
{
    struct load *load = free_places > 0 ? find_or_add(loads, client) : NULL;
    if (!load || load->count >= free_places) {
        return false; /* a new load has none, and there is room for it */
    }
    load->count++;
    return true;
}

void client_loads_drop(struct client_loads *loads, const struct addr *client)
{
    const struct client_net net = client_net_of(client);
    struct load *load = key_table_find(&loads->table, client_net_key(&net));
    if (--load->count == 0) {
        (void)key_table_take(&loads->table, client_net_key(&net)); /* this one */
        free(load);
    }
}
