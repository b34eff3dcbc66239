/* Holds the keys that etcd has of one owner, as the mirror shows them: key -> hash of its value,
 * and its revision. Values are never needed again, so only their hashes are stored.
 *
 * It is a sorted array: most owners have two to five keys, a full read appends, and the plan merges
 * two sorted lists. Pure. */
#ifndef KUBE2SKY_RECONCILE_ACTUAL_H
#define KUBE2SKY_RECONCILE_ACTUAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"

enum { ACTUAL_LENGTH_MAX = (1 << 30) - 1 };

struct actual_value {
    uint64_t hash;
    int64_t revision;     /* of the transaction that last wrote it */
    uint32_t generation;  /* of the full read that last saw it; starts at 1 */
    bool is_ours : 1;     /* may be deleted if not desired: ownership_has */
    bool may_be_copy : 1; /* is not deleted if its value is desired elsewhere:
                           * ownership_may_be_copy */
    uint32_t length : 30; /* of the value, less than etcd's limit of a request */
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
    size_t count; /* keys in `used` that are not deleted */
    size_t bytes; /* suffixes and values of those keys */
};

void actual_fini(struct actual_keys *actual);

static inline struct slice actual_suffix(const struct actual_key *key)
{
    return slice_of(key->suffix, key->suffix_len);
}

uint64_t actual_value_hash(struct slice value);

/* Returns the share of `bytes` that the key adds. */
static inline size_t actual_key_bytes(const struct actual_key *key)
{
    return key->suffix_len + key->value.length;
}

/* Returns NULL if the key is absent. The result is borrowed until the next change. */
const struct actual_key *actual_find(const struct actual_keys *actual, struct slice suffix);

/* Returns the first key at or after *at that is not deleted, and sets *at to its index; NULL at the
 * end. Start at 0 and continue at *at + 1. */
const struct actual_key *actual_next(const struct actual_keys *actual, size_t *at);

/* Returns true if the key is new or its value changed. */
bool actual_put(struct actual_keys *actual, struct slice suffix, const struct actual_value *value);

/* Returns true if the key existed. */
bool actual_delete(struct actual_keys *actual, struct slice suffix);

/* Removes the keys of other generations; returns their number. */
size_t actual_sweep(struct actual_keys *actual, uint32_t generation);

#endif
