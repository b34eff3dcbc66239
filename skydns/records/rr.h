/* Describes the resource records of an answer before encoding. They are views into the store, the
 * question, the configuration or an upstream's response, and valid as long as those. Names are
 * slices of uncompressed wire form, since a name with labels stripped is simply the tail of the
 * full one. Any thread. */
#ifndef SKYDNS_RECORDS_RR_H
#define SKYDNS_RECORDS_RR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/base/slice.h"
#include "common/dns/dname.h"
#include "common/dns/dns.h"

enum rr_type {
#define RR_ENUMERATOR(name, number, shape, answer, text) RR_##name = (number),
    RR_TYPES(RR_ENUMERATOR) RR_OTHER_TYPES(RR_ENUMERATOR)
#undef RR_ENUMERATOR
};

static inline enum rr_shape rr_shape_of(enum rr_type type)
{
    switch (type) {
#define RR_CASE(name, number, shape, answer, text) \
    case RR_##name:                                \
        return RR_SHAPE_##shape;
        RR_TYPES(RR_CASE)
        RR_OTHER_TYPES(RR_CASE)
#undef RR_CASE
    }
    return RR_SHAPE_BYTES;
}

/* Returns the bytes of numbers before a name. */
static inline size_t rr_numbers_len(enum rr_shape shape)
{
    return shape == RR_SHAPE_SERVICE_NAMED ? 6 : shape == RR_SHAPE_PREFERENCE_NAMED ? 2 : 0;
}

struct rr {
    struct slice owner;
    uint32_t ttl_s;
    enum rr_type type;
    uint16_t priority; /* SRV; MX: the preference */
    uint16_t weight;   /* SRV */
    uint16_t port;     /* SRV */
    bool is_wire;      /* TXT of several strings: the data are as on the wire */
    struct slice data; /* by its shape; of RR_SHAPE_ZONE: empty */
};

static inline enum rr_shape rr_shape(const struct rr *rr)
{
    return rr->is_wire ? RR_SHAPE_BYTES : rr_shape_of(rr->type);
}

static inline struct slice rr_name(const struct dname *name)
{
    return slice_of(name->wire, name->len);
}

static inline struct dname rr_owner(const struct rr *rr) /* in lower case */
{
    struct dname owner = {.len = (uint8_t)rr->owner.len};
    memcpy(owner.wire, rr->owner.ptr, owner.len);
    dname_lower(&owner);
    return owner;
}

/* Compares names; ignores case. */
bool rr_same_name(struct slice a, struct slice b);

/* Bounds a section: no message holds more. Over TCP it has 65,535 bytes, and an address record with
 * a compressed owner has 16. */
enum { RR_LIST_MAX = 4096 };

/* A place of the index, which hashes choose. */
struct rr_slot {
    uint16_t item; /* index into items plus one; 0: free */
    uint16_t tag;  /* of the hash: other records are seldom looked at */
};

/* The records of one section, without duplicates, in the order they were added. */
struct rr_list {
    size_t count;
    bool is_cut;        /* there were more than RR_LIST_MAX, or than the response holds */
    size_t least_bytes; /* the fewest that they take in a message */
    struct rr *items;
    struct rr_slot *slots;
    bool is_indexed;           /* slots are in use: long lists only */
    struct slice hashed_owner; /* the one that was hashed last, and its hash */
    uint32_t owner_hash;
};

void rr_list_init(struct rr_list *list);
void rr_list_fini(struct rr_list *list);
void rr_list_clear(struct rr_list *list);

/* Merges equal records into one with the smaller TTL. Of two CNAMEs with one owner, the later
 * replaces the earlier and also gets the smaller TTL: a name has only one (RFC 2181 10.1). */
void rr_list_add(struct rr_list *list, const struct rr *rr);

/* Shuffles the addresses of each name among themselves; CNAMEs stay before what they point to. No
 * records may be added afterwards. */
void rr_list_shuffle_addresses(struct rr_list *list, uint32_t *random);

/* Gives all records the smallest TTL among them, and at most ttl_s. */
void rr_list_level_ttls(struct rr_list *list, uint32_t ttl_s);

#endif
