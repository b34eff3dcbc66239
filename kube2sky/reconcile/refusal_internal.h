/* Delays owners whose keys etcd refuses, as too large or denied to our user. Each backs off by
 * itself before it is retried, so that it delays no other. On the main loop; no I/O. */
#ifndef KUBE2SKY_RECONCILE_REFUSAL_INTERNAL_H
#define KUBE2SKY_RECONCILE_REFUSAL_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kube2sky/reconcile/owners_internal.h"

struct refusal;
struct refusals;

/* Limits retries of all refused owners together to 100 a second: an etcd out of space refuses all
 * of them. */
enum { REFUSAL_SHARE_MS = 10 };

/* After so many refusals without a success, an owner is not sent alone before it has backed off. */
enum { REFUSALS_AT_ONCE = 128 };

struct refusals_config {
    struct ev_loop *loop;
    void (*due)(void *data, struct owner *owner); /* called when its backoff is over */
    void *data;
};

struct refusals *refusals_new(const struct refusals_config *config);

/* Frees all; call it before the owners are freed. NULL is fine. */
void refusals_free(struct refusals *refusals);

/* Backs the owner off after etcd refused its transaction, longer each time. */
void refusal_wait(struct refusals *refusals, struct owner *owner);
bool refusal_is_waiting(const struct owner *owner);

/* Returns the time until it is retried; 0: it does not wait. */
int64_t refusal_wait_ms(const struct owner *owner);

/* Returns how many owners of a class are refused: they wait, or are tried again. */
size_t refusals_of(const struct refusals *refusals, enum owner_class class);

/* Ends the refusal: etcd accepted its keys, or there is nothing left to write. */
void refusal_end(struct refusals *refusals, struct owner *owner);

/* Calls `due` for every waiting owner, at most once a second. One was accepted, so the cause may be
 * mended. */
void refusals_retry(struct refusals *refusals);

/* Returns whether so many single owners were refused in a row that the cause is not an owner. */
bool refusals_are_general(const struct refusals *refusals);

#endif
