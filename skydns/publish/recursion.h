/* Tells which clients may have questions about external names forwarded. So nobody runs an open
 * resolver by accident.
 *
 * The flag has a list of networks. The default is the loopback, link-local, private and shared
 * ranges, and the networks of the host's own interfaces. The main thread makes the list; the rest
 * is the resolver thread's. */
#ifndef SKYDNS_PUBLISH_RECURSION_H
#define SKYDNS_PUBLISH_RECURSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"

enum { RECURSION_NETWORKS_MAX = 256 }; /* enough for a long flag, or a node with many pods */

struct recursion {
    bool has_list; /* from the flag; else the private ranges and the interfaces */
    size_t count;
    struct network networks[RECURSION_NETWORKS_MAX];
    int64_t read_ms; /* when the interfaces were last read, monotonic */
};

/* Parses the flag's value, `list`: "10.0.0.0/8,fd00::/8,192.0.2.1", "all" for every client, "none"
 * for no client, "" if not given. The error names the wrong item. */
int recursion_init(struct recursion *recursion, const char *list, struct err *err) MUST_CHECK;

/* Returns whether this client's question may be forwarded. Rereads the interfaces, at most once a
 * minute, when a client asks that is not allowed. */
bool recursion_allows(struct recursion *recursion, const struct addr *client, int64_t now_ms);

#endif
