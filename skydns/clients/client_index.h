/* Which namespace a client's address belongs to: that of the pod with this address. An address that
 * pods of several namespaces have, or that a pod shares with its node (hostNetwork), identifies
 * nobody.
 *
 *     pod/<namespace>/<address>, node-address/<address> --main thread--> index --> every answering
 *     thread, for each query: one look into a table, no lock, no wait
 *
 * Filled by the main thread from etcd's events (skydns/sync), read by any number of threads at the
 * same time. Readers see each change at once, or not yet, never half. What a change replaces is
 * handed to `retire`, which frees it when no reader can hold it (publisher_retire); readers look
 * between publisher_enter and publisher_leave. */
#ifndef SKYDNS_CLIENTS_CLIENT_INDEX_H
#define SKYDNS_CLIENTS_CLIENT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/slice.h"

/* A namespace that has clients; equal namespaces are one block while it is in use. Immutable. */
struct client_space {
    uint8_t label_len; /* 1 to 63 */
    char label[63];    /* in lower case, as in names */
};

static inline struct slice client_space_label(const struct client_space *space)
{
    return space ? slice_of(space->label, space->label_len) : slice_of("", 0);
}

struct client_index;

struct client_index_config {
    /* Takes over a block that readers may hold, and calls fn(block) once none can. */
    void (*retire)(void *data, void *block, void (*fn)(void *block));
    void *data;
};

struct client_index *client_index_new(const struct client_index_config *config);
void client_index_free(struct client_index *index); /* no reader is left; NULL is fine */

/* Any thread. NULL: it identifies nobody. The result is valid until publisher_leave. */
const struct client_space *client_index_find(const struct client_index *index, const struct ip *ip);

#endif
