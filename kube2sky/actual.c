#include "kube2sky/actual.h"

#include <stdlib.h>
#include <string.h>

#include "common/xalloc.h"

void actual_fini(struct actual_keys *actual)
{
    for (size_t i = 0; i < actual->count; i++) {
        free(actual->keys[i].suffix);
    }
    free(actual->keys);
    *actual = (struct actual_keys){.keys = NULL};
}

/* FNV-1a 64: two values of one key that collide by chance are one in 2^64. */
uint64_t actual_value_hash(struct slice value)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < value.len; i++) {
        hash = (hash ^ (uint8_t)value.ptr[i]) * 1099511628211u;
    }
    return hash;
}

/* Where the suffix is, or belongs. */
static size_t position(const struct actual_keys *actual, struct slice suffix, bool *ret_found)
{
    size_t low = 0, high = actual->count;
    *ret_found = false;
    /* In order, as a full read and our own transactions bring them. */
    if (high && slice_compare(actual_suffix(&actual->keys[high - 1]), suffix) < 0) {
        return high;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int d = slice_compare(actual_suffix(&actual->keys[middle]), suffix);
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

const struct actual_key *actual_find(const struct actual_keys *actual, struct slice suffix)
{
    bool found;
    size_t at = position(actual, suffix, &found);
    return found ? &actual->keys[at] : NULL;
}

static void insert(struct actual_keys *actual, size_t at, const struct actual_key *key)
{
    if (actual->count == actual->cap) {
        actual->cap = actual->cap ? actual->cap * 2 : 2;
        actual->keys = xrealloc_array(actual->keys, actual->cap, sizeof(*actual->keys));
    }
    memmove(&actual->keys[at + 1], &actual->keys[at], (actual->count - at) * sizeof(*actual->keys));
    actual->keys[at] = *key;
    actual->count++;
}

bool actual_put(struct actual_keys *actual, struct slice suffix, struct slice value,
                uint32_t generation)
{
    bool found;
    size_t at = position(actual, suffix, &found);
    struct actual_key key = {
        .suffix_len = (uint32_t)suffix.len,
        .generation = generation,
        .value_hash = actual_value_hash(value),
    };
    if (found) {
        bool changed = actual->keys[at].value_hash != key.value_hash;
        key.suffix = actual->keys[at].suffix;
        actual->keys[at] = key;
        return changed;
    }
    key.suffix = xstrndup(suffix.ptr, suffix.len);
    insert(actual, at, &key);
    return true;
}

bool actual_delete(struct actual_keys *actual, struct slice suffix)
{
    bool found;
    size_t at = position(actual, suffix, &found);
    if (!found) {
        return false;
    }
    free(actual->keys[at].suffix);
    actual->count--;
    memmove(&actual->keys[at], &actual->keys[at + 1], (actual->count - at) * sizeof(*actual->keys));
    return true;
}

size_t actual_sweep(struct actual_keys *actual, uint32_t generation)
{
    size_t kept = 0, before = actual->count;
    for (size_t i = 0; i < before; i++) {
        if (actual->keys[i].generation == generation) {
            actual->keys[kept++] = actual->keys[i];
        } else {
            free(actual->keys[i].suffix);
        }
    }
    actual->count = kept;
    return before - kept;
}
