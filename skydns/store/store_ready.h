/* What is asked for at a name that stands for a few records below it, made once when they change
 * instead of with every question: the addresses of a service, or the targets of its port. Where
 * there is one record alone, it is that itself.
 *
 * Only what needs no rule to be looked up again is made ready: each record has its TTL (and for SRV
 * its priority) set, none has a group, none repeats another, no target's name ends with another's.
 * Whatever else there is takes the long way (lookup.h), which this gives the same answers
 * as. Part of a version of the store: readers on any thread. */
#ifndef SKYDNS_STORE_STORE_READY_H
#define SKYDNS_STORE_STORE_READY_H

#include <stdbool.h>
#include <stdint.h>

#include "skydns/store/store.h"

/* More records below one name are looked up. 28 addresses fill a datagram of 512 bytes. */
enum { STORE_READY_MAX = 32 };

enum store_ready_kind {
    STORE_READY_ADDRESSES, /* every record's host is an address */
    STORE_READY_TARGETS,   /* every record's host is a name */
};

struct store_ready {
    uint8_t kind;        /* enum store_ready_kind */
    bool is_level;       /* all records have one TTL */
    uint8_t count[2];    /* IPv4 and IPv6 addresses; [0]: the targets */
    uint32_t ttl_s[2];   /* the smallest of each */
    uint32_t weight_sum; /* targets: of their weights, all having one priority */
    /* Addresses: the IPv4 ones, then the IPv6 ones. Targets: the records. In the order of their
     * keys. */
    union {
        uint8_t bytes[1];
        const struct store_record *records[1];
    };
};

struct store_pool;

/* Gives it to a node of the build that has no record of its own; nothing when there is nothing to
 * be made, or not by these rules. */
void store_ready_make(struct store_pool *pool, struct store_node *node);

#endif
