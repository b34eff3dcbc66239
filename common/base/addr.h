/* IP addresses and socket addresses: parsing and printing, never a name lookup.
 *
 * Any thread; pure, except that addr_parse and addr_parse_ip ask the kernel for the number of an
 * interface.
 *
 * A link-local IPv6 address has a scope (RFC 4007 section 11), the interface that it is reached
 * through: "fe80::1%eth0" or "fe80::1%2". A scope of any other IPv6 address means nothing and is
 * ignored, as by the kernel. */
#ifndef COMMON_BASE_ADDR_H
#define COMMON_BASE_ADDR_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"

/* A socket address with its length; family AF_UNSPEC (all zero) means "not known". */
struct addr {
    union {
        struct sockaddr sa;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    };
    socklen_t len;
};

/* An IP address. IPv4-mapped IPv6 (::ffff:a.b.c.d) counts as IPv4, as in the old programs. */
struct ip {
    uint8_t family_bytes; /* 4, 16, or 0 for none */
    uint8_t bytes[16];    /* network order; the first family_bytes count */
};

static inline bool ip_equal(const struct ip *a, const struct ip *b)
{
    return a->family_bytes == b->family_bytes && memcmp(a->bytes, b->bytes, a->family_bytes) == 0;
}

/* Parses "1.2.3.4", "fd00::1". Returns false for anything else: spaces, a trailing dot or leading
 * zeros make the text a name. For flags, URLs and names in queries: there, a zero could mean an
 * octal number. */
bool ip_parse(struct slice text, struct ip *ret_ip);

/* Parses the same, but with leading zeros, which count as nothing: "10.96.011.012" is 10.96.11.12.
 * ParseIPSloppy of Kubernetes does so, whose API server stores such addresses. For objects of the
 * API, records in etcd and hosts files. */
bool ip_parse_sloppy(struct slice text, struct ip *ret_ip);

/* Parses "10-0-0-1", "fd00--1", as labels spell addresses: the dashes are dots when that makes an
 * IPv4 address, else colons. */
bool ip_parse_dashed(struct slice dashed, struct ip *ret_ip);

/* Writes RFC 5952 text; INET6_ADDRSTRLEN bytes are always enough. Returns out. */
const char *ip_format(const struct ip *ip, char out[INET6_ADDRSTRLEN]);

/* Parses "1.2.3.4:53", "[fd00::1]:53", "[fe80::1%eth0]:53". The port is mandatory, 1-65535; the
 * interface of a scope must exist. */
int addr_parse(const char *text, struct addr *ret_addr, struct err *err) MUST_CHECK;

/* Parses "1.2.3.4", "fd00::1", "fe80::1%eth0". Returns false where addr_parse fails. */
bool addr_parse_ip(struct slice text, uint16_t port, struct addr *ret_addr);

/* Parses both forms for another machine, whose interfaces are unknown here: the scope is its text,
 * empty for none. Without a port, the address has the default one; 0: it must have one. */
bool addr_parse_remote(const char *text, uint16_t default_port, struct addr *ret_addr,
                       char ret_scope[IF_NAMESIZE]);

/* Prints addr_parse's form, a scope as its number; ADDR_TEXT_MAX bytes are always enough. Returns
 * out. */
#define ADDR_TEXT_MAX (INET6_ADDRSTRLEN + IF_NAMESIZE + sizeof("[%]:65535"))
const char *addr_format(const struct addr *addr, char out[ADDR_TEXT_MAX]);

/* Prints an address of addr_parse_remote with its scope. */
const char *addr_format_remote(const struct addr *addr, const char *scope, char out[ADDR_TEXT_MAX]);

/* Returns AF_UNSPEC for none. */
struct addr addr_of_ip(const struct ip *ip, uint16_t port);
uint16_t addr_port(const struct addr *addr);
struct ip addr_ip(const struct addr *addr);
bool addr_is_wildcard(const struct addr *addr);

/* Compares address and port; an IPv4-mapped IPv6 address differs from the IPv4 address, as their
 * sockets do. */
bool addr_equal(const struct addr *a, const struct addr *b);

/* Networks in CIDR notation. Pure; any thread. */

struct network {
    struct ip ip; /* host bits zero */
    uint8_t prefix_bits;
};

/* Returns the network of this length that contains the address. */
struct network network_of(const struct ip *ip, uint8_t prefix_bits);

/* Parses "10.0.0.0/8", "fd00::/8"; an address without a length is a network of its own. Host bits
 * may be set and are ignored. */
int network_parse(struct slice text, struct network *ret_network, struct err *err) MUST_CHECK;

bool network_contains(const struct network *network, const struct ip *ip);

#endif
