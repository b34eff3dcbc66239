/* Chooses where the next connection to the cluster goes: the endpoints in turn, each with its
 * addresses. It starts at a random endpoint and tries the addresses that its name resolves to at
 * that moment. Internal to etcd_link.c; same loop and thread.
 *
 *     etcd_dialer_find -> on_address -> (connected and lost) etcd_dialer_next_endpoint
 *                  ^          `-- (failed) etcd_dialer_next_address --> false: the turn is over
 *                  `-----------------------------------'true
 *                  `-> on_no_address: the turn is over
 *
 * Each turn looks the name up. If the lookup fails or is late, the previous addresses, if any,
 * still serve: without DNS, which may be our own, etcd must stay reachable. At most one lookup per
 * endpoint is in flight; a late one keeps running, and the next turn uses its result. */
#ifndef COMMON_ETCD_ETCD_DIALER_INTERNAL_H
#define COMMON_ETCD_ETCD_DIALER_INTERNAL_H

#include <ev.h>
#include <stdbool.h>

#include "common/base/addr.h"
#include "common/base/err.h"
#include "common/etcd/etcd_endpoint_internal.h"
#include "common/etcd/name_lookup.h"

struct etcd_dialer;

struct etcd_dialer_config {
    struct ev_loop *loop;
    const struct etcd_endpoints *endpoints; /* borrowed */
    name_lookup_fn look_up;                 /* NULL: the C library */

    /* Report the result of etcd_dialer_find: exactly one of them runs, once. on_address may run
     * inside it, on_no_address never does. */
    void (*on_address)(void *data, const struct addr *address);
    void (*on_no_address)(void *data, const struct etcd_endpoint *endpoint, const struct err *err);
    void *data;
};

struct etcd_dialer *etcd_dialer_new(const struct etcd_dialer_config *config);
void etcd_dialer_free(struct etcd_dialer *dialer);

/* Returns the endpoint whose turn it is. */
const struct etcd_endpoint *etcd_dialer_endpoint(const struct etcd_dialer *dialer);

/* Finds the address to connect to: the next one of the turn, or else begins a turn. */
void etcd_dialer_find(struct etcd_dialer *dialer);

/* Moves past an address that led nowhere. Returns true if the endpoint has another one, which
 * etcd_dialer_find gives at once. Returns false if its turn is over and the next endpoint's has
 * begun. */
bool etcd_dialer_next_address(struct etcd_dialer *dialer);

/* Ends the turn. */
void etcd_dialer_next_endpoint(struct etcd_dialer *dialer);

/* Stops looking for an address: no callback runs until the next etcd_dialer_find, which restarts
 * the same endpoint's turn. */
void etcd_dialer_cancel(struct etcd_dialer *dialer);

#endif
