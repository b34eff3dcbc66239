/* Holds etcd's reverse keys, as the mirror shows them: key -> hash of its value, revision, whether
 * it is ours, and the Service that it names. They are organised by address, not by owner. An
 * owner's transaction may contain some: those are locked, so that no two transactions in flight
 * share a key. Plain data, no I/O; single-threaded. */
#ifndef KUBE2SKY_RECONCILE_REVERSE_KEYS_INTERNAL_H
#define KUBE2SKY_RECONCILE_REVERSE_KEYS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "kube2sky/reconcile/actual.h"

struct owner;
struct reverse_keys;

struct reverse_key {
    struct actual_value value; /* is_ours: ownership_has */
    uint32_t len;
    uint32_t owner_object_len;
    char key[]; /* "/skydns/arpa/in-addr/10/0/0/1", then the owner object's id */
};

/* Returns the owner object that it names (ownership_owner_object); may be empty. */
static inline struct slice reverse_key_owner_object(const struct reverse_key *key)
{
    return slice_of(key->key + key->len, key->owner_object_len);
}

struct reverse_keys *reverse_keys_new(void);
void reverse_keys_free(struct reverse_keys *keys); /* NULL is fine */

/* Returns the key, borrowed until the next change; NULL: absent. */
const struct reverse_key *reverse_keys_find(const struct reverse_keys *keys, struct slice key);

/* Returns true if the key is new or its value changed. */
bool reverse_keys_put(struct reverse_keys *keys, struct slice key, const struct actual_value *value,
                      struct slice owner_object);

/* Returns true if the key existed. */
bool reverse_keys_delete(struct reverse_keys *keys, struct slice key);

/* Removes the keys of other generations and calls fn after each. */
typedef void (*reverse_key_fn)(void *data, struct slice key);
void reverse_keys_sweep(struct reverse_keys *keys, uint32_t generation, reverse_key_fn fn,
                        void *data);

/* Calls fn for each key that is ours. fn must not change the table. */
void reverse_keys_each_own(const struct reverse_keys *keys, reverse_key_fn fn, void *data);

size_t reverse_keys_count(const struct reverse_keys *keys); /* of all writers */

/* ---- Locks ---- */

/* Returns the owner whose transaction in flight changes the key; NULL: none. */
struct owner *reverse_keys_locker(const struct reverse_keys *keys, struct slice key);

/* Locks the key, which must not be locked yet. */
void reverse_keys_lock(struct reverse_keys *keys, struct slice key, struct owner *owner);

/* Unlocks all keys of the owner. */
void reverse_keys_unlock(struct reverse_keys *keys, struct owner *owner);

#endif
