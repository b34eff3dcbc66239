/* Prepares the answer for a name of a few records when they change, instead of for every query: the
 * addresses of a service, or the targets of its port. For a single record, it is the record itself.
 *
 * Only records that need no further rule qualify: each has its TTL set, none has a group or `rr`,
 * none repeats another's host. Targets also have one priority, which is set, and no targetstrip,
 * and no target's name ends with another's. Everything else takes the slow path (lookup.h); both
 * give the same answers. Part of a store version: readers on any thread. */
#ifndef SKYDNS_RECORDS_STORE_READY_H
#define SKYDNS_RECORDS_STORE_READY_H

#include <stdbool.h>
#include <stdint.h>

#include "skydns/records/store.h"

/* The most records that are prepared. If a name has more below it, addresses are picked for each
 * answer (store_pick.h). 28 fill a datagram of 512 bytes. A change costs as much for each node
 * above it as there are prepared. */
enum { STORE_READY_MAX = 32 };

enum store_ready_kind {
    STORE_READY_ADDRESSES, /* every record's host is an address */
    STORE_READY_TARGETS,   /* every record's host is a name */
};

struct store_ready {
    uint8_t kind;        /* enum store_ready_kind */
    bool is_level;       /* all records have the same TTL */
    uint8_t count[2];    /* IPv4 and IPv6 addresses; targets: in [0] */
    uint32_t ttl_s[2];   /* the smallest of each */
    uint32_t weight_sum; /* targets: of their weights; all have one priority */
    /* Addresses: the IPv4 ones, then the IPv6 ones. Targets: the records. In key order. */
    union {
        uint8_t bytes[1];
        const struct store_record *records[1];
    };
};

struct store_pool;
struct store_record;

/* Prepares the answer of a node of the build that has no record of its own. Does nothing when the
 * records below do not qualify. */
void store_ready_make(struct store_pool *pool, struct store_node *node);

/* Does the same when `only` is the one visible record below, without looking for it. */
void store_ready_make_single(struct store_node *node, struct store_record *only);

#endif
