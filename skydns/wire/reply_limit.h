/* Limits the length of a response. Pure. */
#ifndef SKYDNS_WIRE_REPLY_LIMIT_H
#define SKYDNS_WIRE_REPLY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/wire/edns.h"
#include "skydns/wire/query.h"

/* Returns what the transport and the client's EDNS allow, less what the query reserves. A
 * reservation leaves room for the header, the question and an OPT record. */
static inline size_t reply_limit_of(const struct engine_query *query, bool has_edns,
                                    uint16_t udp_size, uint16_t max_udp_size)
{
    size_t limit = query->transport != ENGINE_UDP
                       ? ENGINE_REPLY_MAX
                       : edns_udp_limit(has_edns, udp_size, max_udp_size);
    return limit - query->reserved;
}

#endif
