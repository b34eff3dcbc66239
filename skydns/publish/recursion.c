#include "skydns/publish/recursion.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>

enum { REREAD_MS = 60 * 1000 };

static void recursion_add(struct recursion *recursion, const struct network *network)
{
    if (recursion->count < RECURSION_NETWORKS_MAX) {
        recursion->networks[recursion->count++] = *network;
    }
}

/* Loopback and link-local (RFC 6890), private (RFC 1918, RFC 4193) and shared (RFC 6598). */
static const char *const private_ranges[] = {
    "127.0.0.0/8",    "::1",      "169.254.0.0/16", "fe80::/10", "10.0.0.0/8", "172.16.0.0/12",
    "192.168.0.0/16", "fc00::/7", "100.64.0.0/10",
};

/* Returns the number of leading ones in a netmask. */
static uint8_t mask_bits(const struct sockaddr *mask, uint8_t family_bytes)
{
    struct addr addr = {.len = family_bytes == 4 ? sizeof(addr.v4) : sizeof(addr.v6)};
    memcpy(&addr.sa, mask, addr.len);
    const uint8_t *bytes = family_bytes == 4 ? (const uint8_t *)&addr.v4.sin_addr
                                             : (const uint8_t *)&addr.v6.sin6_addr;
    uint8_t bits = 0;
    while (bits < family_bytes * 8 && (bytes[bits / 8] & 0x80 >> bits % 8)) {
        bits++;
    }
    return bits;
}

/* Adds the interfaces' networks. Point-to-point interfaces and those that are down count like the
 * others. */
static void add_interfaces(struct recursion *recursion)
{
    struct ifaddrs *list, *i;
    if (getifaddrs(&list) < 0) {
        return; /* the ranges above remain, and a retry follows */
    }
    for (i = list; i; i = i->ifa_next) {
        int family = i->ifa_addr ? i->ifa_addr->sa_family : AF_UNSPEC;
        if (!i->ifa_netmask || (family != AF_INET && family != AF_INET6)) {
            continue;
        }
        struct addr addr = {.len = family == AF_INET ? sizeof(addr.v4) : sizeof(addr.v6)};
        memcpy(&addr.sa, i->ifa_addr, addr.len);
        struct ip ip = addr_ip(&addr);
        uint8_t bits = mask_bits(i->ifa_netmask, ip.family_bytes);
        if (bits > 0) {
            struct network network = network_of(&ip, bits);
            recursion_add(recursion, &network);
        }
    }
    freeifaddrs(list);
}

static void read_defaults(struct recursion *recursion)
{
    recursion->count = 0;
    for (size_t i = 0; i < ARRAY_LEN(private_ranges); i++) {
        struct network network;
        struct err unused;
        if (network_parse(slice_str(private_ranges[i]), &network, &unused) == 0) {
            recursion_add(recursion, &network);
        }
    }
    add_interfaces(recursion);
}

static int add_item(struct recursion *recursion, struct slice item, struct err *err)
{
    static const struct network everybody[] = {{.ip = {.family_bytes = 4}},
                                               {.ip = {.family_bytes = 16}}};
    struct network network;
    if (slice_equal(item, slice_str("none"))) {
        return 0;
    }
    if (slice_equal(item, slice_str("all"))) {
        recursion_add(recursion, &everybody[0]);
        recursion_add(recursion, &everybody[1]);
        return 0;
    }
    int r = network_parse(item, &network, err);
    if (r == 0 && recursion->count == RECURSION_NETWORKS_MAX) {
        return err_set(err, ERR_USAGE, "expected at most %d networks", RECURSION_NETWORKS_MAX);
    }
    if (r == 0) {
        recursion_add(recursion, &network);
    }
    return r;
}

int recursion_init(struct recursion *recursion, const char *list, struct err *err)
{
    *recursion = (struct recursion){.has_list = *list != '\0'};
    if (!recursion->has_list) {
        read_defaults(recursion);
    }
    while (*list) {
        size_t len = strcspn(list, ",");
        int r = len > 0 ? add_item(recursion, slice_of(list, len), err) : 0;
        if (r < 0) {
            return r;
        }
        list += len + (list[len] == ',');
    }
    return 0;
}

static bool recursion_is_in_list(const struct recursion *recursion, const struct ip *ip)
{
    for (size_t i = 0; i < recursion->count; i++) {
        if (network_contains(&recursion->networks[i], ip)) {
            return true;
        }
    }
    return false;
}

bool recursion_allows(struct recursion *recursion, const struct addr *client, int64_t now_ms)
{
    struct ip ip = addr_ip(client);
    if (recursion_is_in_list(recursion, &ip)) {
        return true;
    }
    if (recursion->has_list || now_ms - recursion->read_ms < REREAD_MS) {
        return false;
    }
    recursion->read_ms = now_ms;
    read_defaults(recursion);
    return recursion_is_in_list(recursion, &ip);
}
