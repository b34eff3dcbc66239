/* Resolves host names without blocking the loop, each in a thread of its own that ends by itself.
 *
 * getaddrinfo waits for DNS servers for up to half a minute. Used by the etcd client
 * (etcd_dialer.c), which bounds the number in flight. Loop thread only; the callback runs on it,
 * never from inside name_lookup_start. */
#ifndef COMMON_ETCD_NAME_LOOKUP_H
#define COMMON_ETCD_NAME_LOOKUP_H

#include <ev.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/err.h"

/* Limits the addresses of a name; the rest is ignored. The headless Service of an etcd cluster has
 * 5 or 7. */
enum { NAME_ADDRESSES_MAX = 8 };

struct name_addresses {
    struct addr items[NAME_ADDRESSES_MAX]; /* with the port */
    size_t count;
};

/* Looks a name up, blocking, in the helper thread. Returns 0 with at least one address, or
 * ERR_UNAVAILABLE with a message that names the host. */
typedef int (*name_lookup_fn)(const char *host, uint16_t port, struct name_addresses *ret,
                              struct err *err);

struct name_lookup;

/* Gets exactly one of addresses and err, the other is NULL; the lookup is gone afterwards. */
typedef void (*name_lookup_cb)(void *data, const struct name_addresses *addresses,
                               const struct err *err);

struct name_lookup_config {
    struct ev_loop *loop;
    const char *host; /* copied */
    uint16_t port;
    name_lookup_fn look_up; /* NULL: the C library, per nsswitch.conf */
    name_lookup_cb on_done;
    void *data;
};

struct name_lookup *name_lookup_start(const struct name_lookup_config *config);

/* Drops the lookup; no callback runs afterwards. The thread runs on until the C library returns,
 * without touching the loop. NULL is fine. */
void name_lookup_cancel(struct name_lookup *lookup);

#endif
