/* A queue in which clients take turns: whoever queues a thousand things waits for them, whoever
 * queues one waits for one of each client before it. Both ends cost the same however long it is: a
 * client that waits is one entry of a hash table and of a list. As many of these as things at most,
 * 0.1 KB each; the caller limits how many things there are. Single-threaded: pools of threads hold
 * their lock. */
#ifndef COMMON_BASE_FAIR_QUEUE_H
#define COMMON_BASE_FAIR_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/client_net.h"
#include "common/base/key_table.h"

/* The first member of what is queued. */
struct fair_item {
    TAILQ_ENTRY(fair_item) entry;
    struct client_net net; /* the caller's: whose turn it takes; not changed while queued */
};

struct fair_turn;

struct fair_queue {
    TAILQ_HEAD(, fair_turn) turns; /* the clients that wait, in the order of their turns */
    struct key_table by_client;
};

void fair_queue_init(struct fair_queue *queue);
void fair_queue_fini(struct fair_queue *queue); /* empty */

void fair_queue_push(struct fair_queue *queue, struct fair_item *item);

/* The oldest of the client whose turn it is, which goes behind the others; NULL: it is empty. */
struct fair_item *fair_queue_pop(struct fair_queue *queue);

/* Takes out one that is queued; the others keep their order. */
void fair_queue_remove(struct fair_queue *queue, struct fair_item *item);

/* ---- Places ---- */

/* How many places of something limited each client has, so that one cannot take all of them: it
 * gets no further place when it has as many as are free, so that alone it may have half, two may
 * have a third each, and there is always one for another. A client is what client_net.h says. As
 * many entries as places taken at most, 0.1 KB each. Single-threaded. */
struct client_loads;

struct client_loads *client_loads_new(void);
void client_loads_free(struct client_loads *loads); /* NULL is fine */

/* How many the client has. */
size_t client_loads_get(const struct client_loads *loads, const struct addr *client);

/* One more; returns how many there are now. */
size_t client_loads_add(struct client_loads *loads, const struct addr *client);

/* The same, if it has fewer than are free: false, and no change, if not. */
bool client_loads_take(struct client_loads *loads, const struct addr *client,
                       size_t free_places) MUST_CHECK;

/* One less, of those added or taken. */
void client_loads_drop(struct client_loads *loads, const struct addr *client);

#endif
