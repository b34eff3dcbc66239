/* Where the next connection to the cluster goes: the endpoints in turn, from a random one on, and
 * of each the addresses that its name has at that moment. The inside of etcd_link.c; same loop and
 * thread.
 *
 *     etcd_dialer_find -> on_address -> (connected and lost) etcd_dialer_next_endpoint
 *                  ^          `-- (failed) etcd_dialer_next_address --> false: the turn is over
 *                  `-----------------------------------'true
 *                  `-> on_no_address: the turn is over
 *
 * A name is looked up at each turn. One that cannot be, or not in time, keeps the addresses it had
 * the last time, if any: an etcd must not be lost with the DNS, which may be our own. At most one
 * look-up an endpoint is under way; one that is late goes on, and the next turn takes its result.
 */
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

    /* One of them once after each etcd_dialer_find: on_address perhaps from inside it,
     * on_no_address never. */
    void (*on_address)(void *data, const struct addr *address);
    void (*on_no_address)(void *data, const struct etcd_endpoint *endpoint, const struct err *err);
    void *data;
};

struct etcd_dialer *etcd_dialer_new(const struct etcd_dialer_config *config);
void etcd_dialer_free(struct etcd_dialer *dialer);

/* Whose turn it is. */
const struct etcd_endpoint *etcd_dialer_endpoint(const struct etcd_dialer *dialer);

void etcd_dialer_find(struct etcd_dialer *dialer);

/* The address that was found led nowhere. True: the endpoint has another one, to be had at once by
 * etcd_dialer_find. False: its turn is over; the next endpoint's has begun. */
bool etcd_dialer_next_address(struct etcd_dialer *dialer);

/* Ends the turn. */
void etcd_dialer_next_endpoint(struct etcd_dialer *dialer);

/* Nobody wants the connection any more: no callback comes until the next etcd_dialer_find, which
 * begins the same endpoint's turn anew. */
void etcd_dialer_cancel(struct etcd_dialer *dialer);

#endif
