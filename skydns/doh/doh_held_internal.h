/* Holds responses of one HTTP/1.1 connection in the order of their requests: those that are due,
 * and those that are ready behind them or wait for room. Most connections never have one: a
 * response that comes at once is put without it. */
#ifndef SKYDNS_DOH_DOH_HELD_INTERNAL_H
#define SKYDNS_DOH_DOH_HELD_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/base/slice.h"

struct stream_host;

struct doh_held_reply {
    STAILQ_ENTRY(doh_held_reply) next;
    uint64_t tag;
    bool is_head, is_last, keeps_alive; /* of its request */
    bool is_ready;
    uint8_t *bytes; /* once ready */
    size_t len, sent;
};

struct doh_held {
    STAILQ_HEAD(doh_held_queue, doh_held_reply) queue;
    size_t count, bytes;
};

void doh_held_init(struct doh_held *held);
void doh_held_fini(struct doh_held *held);

/* Adds one at the end, not ready yet. */
struct doh_held_reply *doh_held_add(struct doh_held *held, uint64_t tag);

/* Returns the one with this tag that is not ready; NULL: none. */
struct doh_held_reply *doh_held_find(const struct doh_held *held, uint64_t tag);

/* Makes it ready; copies the bytes. */
void doh_held_ready(struct doh_held *held, struct doh_held_reply *reply, struct slice head,
                    struct slice body);

/* Puts what is ready and has room. Returns true if there is more, which only lacks room. */
bool doh_held_flush(struct doh_held *held, struct stream_host *host);

size_t doh_held_memory(const struct doh_held *held);

#endif
