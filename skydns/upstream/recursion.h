/* Whose questions about other domains are sent on: nobody runs an open resolver by accident. A list
 * of networks given by flag; without one the loopback, link-local, private and shared ranges, and
 * the networks of the host's own interfaces.
 *
 * The list is made on the main thread; the rest is the resolver thread's. */
#ifndef SKYDNS_UPSTREAM_RECURSION_H
#define SKYDNS_UPSTREAM_RECURSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/network.h"

enum { RECURSION_NETWORKS_MAX = 256 }; /* a long flag; interfaces of a node with many pods */

struct recursion {
    bool has_list; /* of the flag; else the ranges that are known to be private, and interfaces */
    size_t count;
    struct network networks[RECURSION_NETWORKS_MAX];
    int64_t read_ms; /* when the interfaces were read, monotonic */
};

/* `list` is the flag's value, "" when it was not given: "10.0.0.0/8,fd00::/8,192.0.2.1"; "all" is
 * everybody, "none" nobody. The error says which item is wrong. */
int recursion_init(struct recursion *recursion, const char *list, struct err *err) MUST_CHECK;

/* May this client's question be sent on? Interfaces are read again at most once a minute, when
 * somebody who is not allowed asks. */
bool recursion_allows(struct recursion *recursion, const struct addr *client, int64_t now_ms);

#endif
