/* Holds what etcd has of one owner, according to the mirror: key -> hash of its value, and its
 * revision. Values are never needed again, so they are not kept. A sorted array: most owners have
 * two to five keys, a full read appends, and the plan merges two sorted lists. Pure. */
#ifndef KUBE2SKY_RECONCILE_ACTUAL_H
#define KUBE2SKY_RECONCILE_ACTUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"

struct actual_value {
    uint64_t hash;
    int64_t revision;    /* that last wrote it */
    uint32_t generation; /* of the full read that last saw it; starts at 1 */
    bool is_ours;        /* may be deleted if not desired: ownership_has */
    bool may_be_copy;    /* but not if its value is desired elsewhere: ownership_may_be_copy */
    uint16_t length;     /* the value's; the largest number stands for all above it */
};

struct actual_key {
    struct actual_value value; /* generation 0: deleted, not yet removed from the array */
    uint32_t suffix_len;
    char suffix[]; /* the key after the owner's part, "/_tcp/_http/c88f1059" */
};

struct actual_keys {
    struct actual_key **keys; /* by suffix, in byte order */
    size_t used;
    size_t cap;
    size_t count; /* those of `used` that are not deleted */
    size_t bytes; /* of these, suffixes and values */
};

void actual_fini(struct actual_keys *actual);

static inline struct slice actual_suffix(const struct actual_key *key)
{
    return slice_of(key->suffix, key->suffix_len);
}

uint64_t actual_value_hash(struct slice value);

/* The key's part of `bytes`. */
static inline size_t actual_key_bytes(const struct actual_key *key)
{
    return key->suffix_len + key->value.length;
}

/* NULL if absent. Borrowed until the next change. */
const struct actual_key *actual_find(const struct actual_keys *actual, struct slice suffix);

/* The first key at or after *at that is not deleted, with its index in *at; NULL at the end. Start
 * at 0 and continue at *at + 1. */
const struct actual_key *actual_next(const struct actual_keys *actual, size_t *at);

/* True if the key is new or its value changed. */
bool actual_put(struct actual_keys *actual, struct slice suffix, const struct actual_value *value);

/* True if it existed. */
bool actual_delete(struct actual_keys *actual, struct slice suffix);

/* Removes the keys of other generations; returns how many. */
size_t actual_sweep(struct actual_keys *actual, uint32_t generation);

#endif
