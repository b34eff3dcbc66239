/* Picks addresses of a name that has many: as many as a response may hold and one more, so that the
 * encoder sees that it does not hold all.
 *
 * With rotation the pick begins at a random address, so that each has its turn; if only near ones
 * are picked, at a random near one. The fast path and the slow path share it, so they pick alike.
 * One per engine and path, on that engine's thread. It allocates nothing. */
#ifndef SKYDNS_ANSWER_ADDRESS_PICK_H
#define SKYDNS_ANSWER_ADDRESS_PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/answer/near.h"
#include "skydns/publish/engine_config.h"
#include "skydns/records/rr.h"
#include "skydns/records/store.h"

struct address_pick {
    /* The result: records with different addresses. */
    size_t count;
    bool is_all;     /* the name has no other address, or no other near one */
    bool is_near;    /* only near addresses were picked */
    uint32_t ttl_s;  /* the smallest among them */
    uint32_t visits; /* records looked at, */
    uint32_t far;    /* and those of them that are not near, if only near ones were picked */
    const struct store_record *records[RR_LIST_MAX];

    /* For deduplication: each slot is an index into records plus one; 0 is free. Half of them stay
     * free. */
    uint16_t slots[2 * RR_LIST_MAX];
};

/* A pick's input. */
struct address_wanted {
    const struct engine_config *config;
    const struct store_node *node;
    unsigned family_bytes; /* 4 or 16; the node has such an address */
    size_t reply_limit;    /* size of the response */
    uint32_t visits_max;   /* records that may be looked at */
    uint32_t random;       /* the query's random number */
    struct near near;      /* only near addresses are picked, if there are any */
};

/* Returns how many records of this family are more than a response can hold: one more than fit its
 * bytes, and at most a section's list. */
size_t address_pick_enough(unsigned family_bytes, size_t reply_limit);

/* Returns the index, below `count`, of an answer's first record when it cannot have all: each
 * equally often. The shuffle uses the query's random number itself. */
static inline uint32_t address_pick_first(uint32_t random, uint32_t count)
{
    const uint32_t spread = 0x9e3779b1; /* 2^32 over the golden ratio */
    return (uint32_t)((uint64_t)(random * spread) * count >> 32);
}

/* Fills *pick. Returns false when that would need more than visits_max visits, because many records
 * repeat an address. */
bool address_pick(struct address_pick *pick, const struct address_wanted *wanted);

#endif
