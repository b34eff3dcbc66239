/* The addresses of a name that has many: as many as a reply may hold and one more, so that the
 * encoder sees that it does not hold all. With rotation they begin at a random one, so that each
 * has its turn. For the fast path and the slow path, which pick alike. One per engine and path;
 * that engine's thread only. Nothing allocates. */
#ifndef SKYDNS_ANSWER_ADDRESS_PICK_H
#define SKYDNS_ANSWER_ADDRESS_PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/publish/engine_config.h"
#include "skydns/records/rr.h"
#include "skydns/records/store.h"

struct address_pick {
    /* The result: records with different addresses. */
    size_t count;
    bool is_all;     /* the name has no other address */
    uint32_t ttl_s;  /* the smallest among them */
    uint32_t visits; /* records looked at */
    const struct store_record *records[RR_LIST_MAX];

    /* Of de-duplication: an index into records plus one; 0 is free. Half of them stay free. */
    uint16_t slots[2 * RR_LIST_MAX];
};

/* What to pick. */
struct address_wanted {
    const struct engine_config *config;
    const struct store_node *node;
    unsigned family_bytes; /* 4 or 16; the node has such an address */
    size_t reply_limit;    /* bytes of the reply */
    uint32_t visits_max;   /* records that may be looked at */
    uint32_t random;       /* of the query */
};

/* How many records of this family cannot all be in a reply: more than its bytes could hold, and no
 * more than a section's list does. */
size_t address_pick_enough(unsigned family_bytes, size_t reply_limit);

/* Returns the index, below `count`, at which an answer begins that cannot have all records: each
 * equally often. The shuffle uses the query's random number itself. */
static inline uint32_t address_pick_first(uint32_t random, uint32_t count)
{
    const uint32_t spread = 0x9e3779b1; /* 2^32 over the golden ratio */
    return (uint32_t)((uint64_t)(random * spread) * count >> 32);
}

/* False: it would take more visits, because many records repeat an address. */
bool address_pick(struct address_pick *pick, const struct address_wanted *wanted);

#endif
