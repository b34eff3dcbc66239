/* Tells which clients may have questions about other domains forwarded. So nobody runs an open
 * resolver by accident. A list of networks from the flag; by default the loopback, link-local,
 * private and shared ranges, and the networks of the host's own interfaces.
 *
 * The main thread makes the list; the rest is the resolver thread's. */
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

/* `list` is the flag's value: "10.0.0.0/8,fd00::/8,192.0.2.1", "all" for everybody, "none" for
 * nobody, "" if not given. The error names the wrong item. */
int recursion_init(struct recursion *recursion, const char *list, struct err *err) MUST_CHECK;

/* May this client's question be forwarded? Rereads the interfaces, at most once a minute, when a
 * client that is not allowed asks. */
bool recursion_allows(struct recursion *recursion, const struct addr *client, int64_t now_ms);

#endif
