/* A queue in which clients take turns: whoever queues a thousand things waits for them, whoever
 * queues one waits for one of each client before it. Both ends cost the same however long it is: a
 * client that waits is one entry of a hash table and of a list. As many of these as things at most,
 * 0.1 KB each; the caller limits how many things there are. Single-threaded: pools of threads hold
 * their lock. */
#ifndef COMMON_BASE_FAIR_QUEUE_H
#define COMMON_BASE_FAIR_QUEUE_H

#include <sys/queue.h>

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

#endif
