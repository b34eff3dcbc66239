/* What etcd holds for one owner, as far as the mirror has told: key -> hash of its value. Values
 * are never needed again, so they are not kept. A sorted array: most owners have two to five keys,
 * a full read appends, and the plan is a merge of two sorted lists. Pure. */
#ifndef KUBE2SKY_ACTUAL_H
#define KUBE2SKY_ACTUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/slice.h"

struct actual_key {
    char *suffix; /* what follows the owner's part of the key, "/_tcp/_http/c88f1059"; owned */
    uint32_t suffix_len;
    uint32_t generation; /* of the full read that last saw it */
    uint64_t value_hash;
};

struct actual_keys {
    struct actual_key *keys; /* by suffix, in byte order */
    size_t count;
    size_t cap;
};

void actual_fini(struct actual_keys *actual);

static inline struct slice actual_suffix(const struct actual_key *key)
{
    return slice_of(key->suffix, key->suffix_len);
}

uint64_t actual_value_hash(struct slice value);

/* NULL when it is not there. */
const struct actual_key *actual_find(const struct actual_keys *actual, struct slice suffix);

/* True when the key is new or said something else. */
bool actual_put(struct actual_keys *actual, struct slice suffix, struct slice value,
                uint32_t generation);

/* True when it was there. */
bool actual_delete(struct actual_keys *actual, struct slice suffix);

/* Removes the keys of other generations; how many. */
size_t actual_sweep(struct actual_keys *actual, uint32_t generation);

#endif
