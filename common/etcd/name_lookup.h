/* Host names to addresses without blocking the loop: getaddrinfo waits for nameservers for up to
 * half a minute, so each look-up has a thread of its own, which ends by itself. Used by the etcd
 * client (etcd_dialer.c), which bounds how many are under way. The loop's thread only; the callback
 * runs on it, never from inside name_lookup_start. */
#ifndef COMMON_ETCD_NAME_LOOKUP_H
#define COMMON_ETCD_NAME_LOOKUP_H

#include <ev.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"

/* Of one name; the rest is left out. A headless Service of an etcd cluster has 5 or 7. */
enum { NAME_ADDRESSES_MAX = 8 };

struct name_addresses {
    struct addr items[NAME_ADDRESSES_MAX]; /* with the port */
    size_t count;
};

/* Looks a name up, blocking: runs in the helper thread. 0 with at least one address, or
 * ERR_UNAVAILABLE with a message that names the host. */
typedef int (*name_lookup_fn)(const char *host, uint16_t port, struct name_addresses *ret,
                              struct err *err);

struct name_lookup;

/* addresses is NULL when err is set, and the other way round; the look-up is gone then. */
typedef void (*name_lookup_cb)(void *data, const struct name_addresses *addresses,
                               const struct err *err);

struct name_lookup_config {
    struct ev_loop *loop;
    const char *host; /* copied */
    uint16_t port;
    name_lookup_fn look_up; /* NULL: the C library, with all that nsswitch.conf says */
    name_lookup_cb on_done;
    void *data;
};

struct name_lookup *name_lookup_start(const struct name_lookup_config *config);

/* No callback any more; the thread runs on until the C library returns, and touches nothing of the
 * loop. NULL is fine. */
void name_lookup_cancel(struct name_lookup *lookup);

#endif
