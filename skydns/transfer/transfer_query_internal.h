/* A request for a zone: AXFR (RFC 5936 2.1) or IXFR (RFC 1995 3). From anybody, before anything is
 * known of the client; its size is bounded by who calls. Pure; any thread. */
#ifndef SKYDNS_TRANSFER_TRANSFER_QUERY_INTERNAL_H
#define SKYDNS_TRANSFER_TRANSFER_QUERY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/dns/dname.h"
#include "skydns/tsig/tsig.h"

struct transfer_query {
    uint16_t id;
    bool recursion_desired; /* copied into the reply */
    bool has_edns;
    uint16_t udp_size; /* as it says; 0: it does not */
    bool is_incremental;
    uint32_t serial;   /* of an incremental one: what the client has */
    struct dname zone; /* as typed: the reply repeats it */
    struct tsig_place tsig;
};

/* False: it is neither, or malformed: FORMERR. */
bool transfer_query_parse(const uint8_t *wire, size_t len, struct transfer_query *ret) MUST_CHECK;

#endif
