#include "kube2sky/reconcile/reverse_keys_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/key_table.h"
#include "common/base/xalloc.h"
#include "kube2sky/reconcile/owners_internal.h"

struct reverse_lock {
    struct slice key;
    struct owner *owner;
    struct reverse_lock *next; /* of the same owner */
};

struct reverse_keys {
    struct key_table table; /* struct reverse_key */
    struct key_table locks; /* struct reverse_lock */
};

static struct slice reverse_keys_key_of(const void *thing)
{
    const struct reverse_key *key = thing;
    return slice_of(key->key, key->len);
}

struct reverse_keys *reverse_keys_new(void)
{
    struct reverse_keys *keys = xcalloc(1, sizeof(*keys));
    key_table_init(&keys->table, reverse_keys_key_of);
    key_table_init_keyed(&keys->locks);
    return keys;
}

void reverse_keys_free(struct reverse_keys *keys)
{
    if (keys) {
        key_table_fini_things(&keys->table);
        key_table_fini_things(&keys->locks);
        free(keys);
    }
}

const struct reverse_key *reverse_keys_find(const struct reverse_keys *keys, struct slice key)
{
    return key_table_find(&keys->table, key);
}

static struct reverse_key *new_key(struct slice key, struct slice owner_object)
{
    struct reverse_key *made = xmalloc(sizeof(*made) + key.len + owner_object.len);
    made->len = (uint32_t)key.len;
    made->owner_object_len = (uint32_t)owner_object.len;
    memcpy(made->key, key.ptr, key.len);
    if (owner_object.len) {
        memcpy(made->key + key.len, owner_object.ptr, owner_object.len);
    }
    return made;
}

bool reverse_keys_put(struct reverse_keys *keys, struct slice key, const struct actual_value *value,
                      struct slice owner_object)
{
    struct reverse_key *there = key_table_find(&keys->table, key);
    bool has_changed = !there || there->value.hash != value->hash;
    if (!there || !slice_equal(reverse_key_owner_object(there), owner_object)) {
        there = new_key(key, owner_object);
        free(key_table_put(&keys->table, there));
    }
    there->value = *value;
    return has_changed;
}

bool reverse_keys_delete(struct reverse_keys *keys, struct slice key)
{
    struct reverse_key *there = key_table_take(&keys->table, key);
    free(there);
    return there != NULL;
}

void reverse_keys_sweep(struct reverse_keys *keys, uint32_t generation, reverse_key_fn fn,
                        void *data)
{
    size_t at = 0;
    struct reverse_key *key = key_table_next(&keys->table, &at);
    while (key) {
        if (key->value.generation == generation) {
            at++;
        } else {
            (void)key_table_take(&keys->table, reverse_keys_key_of(key));
            fn(data, reverse_keys_key_of(key));
            free(key);
        }
        key = key_table_next(&keys->table, &at);
    }
}

void reverse_keys_each_own(const struct reverse_keys *keys, reverse_key_fn fn, void *data)
{
    size_t at = 0;
    for (const struct reverse_key *key = key_table_next(&keys->table, &at); key;
         at++, key = key_table_next(&keys->table, &at)) {
        if (key->value.is_ours) {
            fn(data, reverse_keys_key_of(key));
        }
    }
}

size_t reverse_keys_count(const struct reverse_keys *keys)
{
    return keys->table.count;
}

/* ---- Locks ---- */

struct owner *reverse_keys_locker(const struct reverse_keys *keys, struct slice key)
{
    const struct reverse_lock *lock = key_table_find(&keys->locks, key);
    return lock ? lock->owner : NULL;
}

void reverse_keys_lock(struct reverse_keys *keys, struct slice key, struct owner *owner)
{
    struct reverse_lock *lock = key_table_add(&keys->locks, key, sizeof(*lock));
    lock->owner = owner;
    lock->next = owner->locks;
    owner->locks = lock;
}

void reverse_keys_unlock(struct reverse_keys *keys, struct owner *owner)
{
    while (owner->locks) {
        struct reverse_lock *lock = owner->locks;
        owner->locks = lock->next;
        (void)key_table_take(&keys->locks, lock->key);
        free(lock);
    }
}
