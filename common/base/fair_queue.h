/* A queue in which clients take turns, so that one that queues a thousand things delays only
 * itself.
 *
 * A client that queues one thing waits for one of each client before it. Both ends cost the same
 * however long the queue is: a client that waits is one entry of a hash table and of a list. There
 * are at most as many of these as things, 0.1 KB each; the caller limits how many things there are.
 * Single-threaded: pools of threads hold their lock. */
#ifndef COMMON_BASE_FAIR_QUEUE_H
#define COMMON_BASE_FAIR_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/client_net.h"
#include "common/base/key_table.h"

/* Embed this as the first member of what is queued. */
struct fair_item {
    TAILQ_ENTRY(fair_item) entry;
    struct client_net net; /* the client whose turn it takes, set by the caller; not changed while
                              queued */
};

struct fair_turn;

struct fair_queue {
    TAILQ_HEAD(, fair_turn) turns; /* the clients that wait, in the order of their turns */
    struct key_table by_client;
};

void fair_queue_init(struct fair_queue *queue);
void fair_queue_fini(struct fair_queue *queue); /* must be empty */

/* Adds an item behind those of its client; a client without any gets the last turn. */
void fair_queue_push(struct fair_queue *queue, struct fair_item *item);

/* Returns the oldest item of the client whose turn it is, which goes behind the others; NULL: the
 * queue is empty. */
struct fair_item *fair_queue_pop(struct fair_queue *queue);

/* Removes one that is queued; the others keep their order. */
void fair_queue_remove(struct fair_queue *queue, struct fair_item *item);

/* ---- Loads ---- */

/* Counts how many units of something limited each client holds, so that one client cannot take all
 * of them. A client gets no further unit when it has as many as are free. So alone it may have
 * half, two may have a third each, and there is always one for another. A client is what
 * client_net.h says. There are at most as many entries as units taken, 0.1 KB each.
 * Single-threaded. */
struct client_loads;

struct client_loads *client_loads_new(void);
void client_loads_free(struct client_loads *loads); /* NULL is fine */

/* Returns how many units the client holds. */
size_t client_loads_get(const struct client_loads *loads, const struct addr *client);

/* Adds one; returns how many there are now. */
size_t client_loads_add(struct client_loads *loads, const struct addr *client);

/* Adds one if the client has fewer than are free. Returns false, and changes nothing, if not. */
bool client_loads_take(struct client_loads *loads, const struct addr *client,
                       size_t free_places) MUST_CHECK;

/* Removes one of those added or taken. */
void client_loads_drop(struct client_loads *loads, const struct addr *client);

#endif
