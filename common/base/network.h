/* Networks in CIDR notation. Pure; any thread. */
#ifndef COMMON_BASE_NETWORK_H
#define COMMON_BASE_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/slice.h"

struct network {
    struct ip ip; /* host bits zero */
    uint8_t prefix_bits;
};

/* The network of this length that contains the address. */
struct network network_of(const struct ip *ip, uint8_t prefix_bits);

/* "10.0.0.0/8", "fd00::/8"; an address without a length is a network of its own. Host bits may be
 * set and are ignored. */
int network_parse(struct slice text, struct network *ret_network, struct err *err) MUST_CHECK;

bool network_contains(const struct network *network, const struct ip *ip);

#endif
