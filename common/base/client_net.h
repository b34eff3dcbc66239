/* Clients as limits count them: an IPv4 address, or an IPv6 network of 64 bits.
 *
 * One host can use every address of such a network (RFC 7421). Pods behind a node's address, or in
 * its /64, count as one client: a limit leaves them enough, or applies only when there is little
 * left. Pure. */
#ifndef COMMON_BASE_CLIENT_NET_H
#define COMMON_BASE_CLIENT_NET_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/base/addr.h"
#include "common/base/slice.h"

struct client_net {
    uint8_t bytes[16]; /* ::ffff:a.b.c.d for IPv4, whose network ::/64 no client has */
};

static inline struct client_net client_net_of_ip(const struct ip *ip)
{
    struct client_net net = {{0}};
    if (ip->family_bytes == 4) {
        memset(net.bytes + 10, 0xff, 2);
        memcpy(net.bytes + 12, ip->bytes, 4);
    } else {
        memcpy(net.bytes, ip->bytes, 8);
    }
    return net;
}

static inline struct client_net client_net_of(const struct addr *addr)
{
    const struct ip ip = addr_ip(addr);
    return client_net_of_ip(&ip);
}

static inline bool client_net_equal(const struct client_net *a, const struct client_net *b)
{
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

static inline struct slice client_net_key(const struct client_net *net)
{
    return slice_of(net->bytes, sizeof(net->bytes));
}

#endif
