/* Owners whose keys etcd refuses: too large, or denied to our user. Each waits by itself before it
 * is tried again, so that it delays no other. On the main loop; no I/O. */
#ifndef KUBE2SKY_RECONCILE_REFUSAL_INTERNAL_H
#define KUBE2SKY_RECONCILE_REFUSAL_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct owner;
struct refusal;
struct refusals;

/* Refused owners together are tried at most 100 times a second, however many: an etcd out of space
 * refuses all of them. */
enum { REFUSAL_SHARE_MS = 10 };

/* After so many refusals without a success, an owner is not tried alone before it has waited. */
enum { REFUSALS_AT_ONCE = 128 };

struct refusals_config {
    struct ev_loop *loop;
    void (*due)(void *data, struct owner *owner); /* its wait is over */
    void *data;
};

struct refusals *refusals_new(const struct refusals_config *config);

/* Before the owners. NULL is fine. */
void refusals_free(struct refusals *refusals);

/* etcd refused the owner's transaction: it waits, longer each time. */
void refusal_wait(struct refusals *refusals, struct owner *owner);
bool refusal_is_waiting(const struct owner *owner);

/* Until it is tried again; 0: it does not wait. */
int64_t refusal_wait_ms(const struct owner *owner);

/* etcd accepted it, or there is nothing left to write. */
void refusal_end(struct refusals *refusals, struct owner *owner);

/* A refused owner's transaction was accepted, so whatever was wrong may be mended: `due` is called
 * for every one that waits, at most once a second. */
void refusals_retry(struct refusals *refusals);

/* No single owner is to blame, after this many refusals of single owners in a row. */
bool refusals_are_general(const struct refusals *refusals);

#endif
