#include "kube2sky/reconcile/actual.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/seeded_hash.h"
#include "common/base/xalloc.h"

void actual_fini(struct actual_keys *actual)
{
    for (size_t i = 0; i < actual->used; i++) {
        free(actual->keys[i]);
    }
    free(actual->keys);
    *actual = (struct actual_keys){.keys = NULL};
}

/* Two values of one key collide with a chance of 1 in 2^64. */
uint64_t actual_value_hash(struct slice value)
{
    seeded_hash_init();
    return seeded_hash64(value);
}

/* Returns the index of the suffix, deleted or not, or the index where it belongs. */
static size_t actual_position(const struct actual_keys *actual, struct slice suffix,
                              bool *ret_found)
{
    size_t low = 0, high = actual->used;
    *ret_found = false;
    /* Fast path: keys arrive in order from full reads and our own transactions. */
    if (high && slice_compare(actual_suffix(actual->keys[high - 1]), suffix) < 0) {
        return high;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int d = slice_compare(actual_suffix(actual->keys[middle]), suffix);
        if (d == 0) {
            *ret_found = true;
            return middle;
        }
        if (d < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_deleted(const struct actual_key *key)
{
    return key->value.generation == 0;
}

const struct actual_key *actual_find(const struct actual_keys *actual, struct slice suffix)
{
    bool found;
    size_t at = actual_position(actual, suffix, &found);
    return found && !is_deleted(actual->keys[at]) ? actual->keys[at] : NULL;
}

const struct actual_key *actual_next(const struct actual_keys *actual, size_t *at)
{
    while (*at < actual->used && is_deleted(actual->keys[*at])) {
        (*at)++;
    }
    return *at < actual->used ? actual->keys[*at] : NULL;
}

static void actual_insert(struct actual_keys *actual, size_t at, struct slice suffix,
                          const struct actual_value *value)
{
    struct actual_key *key = xmalloc(sizeof(*key) + suffix.len);
    key->value = *value;
    key->suffix_len = (uint32_t)suffix.len;
    memcpy(key->suffix, suffix.ptr, suffix.len);
    actual->keys =
        xgrow_array(actual->keys, actual->used, &actual->cap, sizeof(struct actual_key *));
    memmove(&actual->keys[at + 1], &actual->keys[at],
            (actual->used - at) * sizeof(struct actual_key *));
    actual->keys[at] = key;
    actual->used++;
    actual->count++;
    actual->bytes += actual_key_bytes(key);
}

bool actual_put(struct actual_keys *actual, struct slice suffix, const struct actual_value *value)
{
    bool found;
    size_t at = actual_position(actual, suffix, &found);
    if (!found) {
        actual_insert(actual, at, suffix, value);
        return true;
    }
    struct actual_key *key = actual->keys[at];
    bool has_changed = is_deleted(key) || key->value.hash != value->hash;
    actual->count += is_deleted(key);
    actual->bytes -= is_deleted(key) ? 0 : actual_key_bytes(key);
    key->value = *value;
    actual->bytes += actual_key_bytes(key);
    return has_changed;
}

/* Removes the keys of other generations; generation 0 removes only deleted keys. */
static void actual_keep(struct actual_keys *actual, uint32_t generation)
{
    size_t kept = 0;
    actual->bytes = 0;
    for (size_t i = 0; i < actual->used; i++) {
        uint32_t of_key = actual->keys[i]->value.generation;
        if (of_key != 0 && (generation == 0 || of_key == generation)) {
            actual->keys[kept++] = actual->keys[i];
            actual->bytes += actual_key_bytes(actual->keys[i]);
        } else {
            free(actual->keys[i]);
        }
    }
    actual->used = kept;
    actual->count = kept;
}

bool actual_delete(struct actual_keys *actual, struct slice suffix)
{
    bool found;
    size_t at = actual_position(actual, suffix, &found);
    if (!found || is_deleted(actual->keys[at])) {
        return false;
    }
    actual->keys[at]->value.generation = 0;
    actual->count--;
    actual->bytes -= actual_key_bytes(actual->keys[at]);
    size_t deleted = actual->used - actual->count;
    if (actual->count == 0) {
        actual_fini(actual);
    } else if (deleted > actual->count / 2) {
        /* Removes deleted keys in batches: an owner that loses 100,000 keys one by one does not
         * move the rest 100,000 times. Batches are small, since the array of a Service that changes
         * all the time must not grow. */
        actual_keep(actual, 0);
    }
    return true;
}

size_t actual_sweep(struct actual_keys *actual, uint32_t generation)
{
    size_t before = actual->count;
    actual_keep(actual, generation);
    return before - actual->count;
}
