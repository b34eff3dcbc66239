/* What etcd holds for one owner, as far as the mirror has told: key -> hash of its value and the
 * revision it has it from. Values are never needed again, so they are not kept. A sorted array:
 * most owners have two to five keys, a full read appends, and the plan is a merge of two sorted
 * lists. Pure. */
#ifndef KUBE2SKY_RECONCILE_ACTUAL_H
#define KUBE2SKY_RECONCILE_ACTUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"

struct actual_value {
    uint64_t hash;
    int64_t revision;    /* that last wrote it */
    uint32_t generation; /* of the full read that last saw it, from 1 on */
    bool is_ours;        /* may be deleted when it is not desired: ownership_has */
};

struct actual_key {
    struct actual_value value; /* generation 0: deleted, its place in the array not yet given up */
    uint32_t suffix_len;
    char suffix[]; /* what follows the owner's part of the key, "/_tcp/_http/c88f1059" */
};

struct actual_keys {
    struct actual_key **keys; /* by suffix, in byte order */
    size_t used;
    size_t cap;
    size_t count; /* of those used, not deleted */
};

void actual_fini(struct actual_keys *actual);

static inline struct slice actual_suffix(const struct actual_key *key)
{
    return slice_of(key->suffix, key->suffix_len);
}

uint64_t actual_value_hash(struct slice value);

/* NULL when it is not there. Borrowed until the next change. */
const struct actual_key *actual_find(const struct actual_keys *actual, struct slice suffix);

/* The first key at or behind *at that is not deleted, and its place in *at; NULL at the end. Begin
 * with 0 and go on from *at + 1. */
const struct actual_key *actual_next(const struct actual_keys *actual, size_t *at);

/* True when the key is new or said something else. */
bool actual_put(struct actual_keys *actual, struct slice suffix, const struct actual_value *value);

/* True when it was there. */
bool actual_delete(struct actual_keys *actual, struct slice suffix);

/* Removes the keys of other generations; how many. */
size_t actual_sweep(struct actual_keys *actual, uint32_t generation);

#endif
