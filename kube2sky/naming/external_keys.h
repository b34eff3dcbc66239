/* Holds etcd's keys with external names, as the mirror of SkyDNS's tree shows them. It tells which
 * belong to an owner of ours ("alias/prod/web", ownership_internal.h), and which names have keys of
 * somebody else: a person, external-dns or the ConfigMap. A key's name is that of its path without
 * the first `targetstrip` labels; external-dns writes 1. Other writers' keys are held only if we
 * could write their name for some object (override_zones.h): without --override-zones, none is.
 *
 * Pure data, no I/O; single-threaded, owned by the reconciler. */
#ifndef KUBE2SKY_NAMING_EXTERNAL_KEYS_H
#define KUBE2SKY_NAMING_EXTERNAL_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"

struct override_zones;
struct external_keys;

struct external_keys_config {
    const struct override_zones *zones; /* outlives it; NULL: none */
    /* Reports that a key of somebody else has come to the name "/skydns/com/example/app", or gone
     * from it. Called inside the functions below; must not call them. */
    void (*changed)(void *data, struct slice name_key);
    void *data;
};

struct external_keys *external_keys_new(const struct external_keys_config *config);
void external_keys_free(struct external_keys *keys); /* NULL is fine */

/* Notes that the mirror shows the key with this value. An empty owner means somebody else.
 * `generation` numbers the full read that last saw the key. */
void external_keys_put(struct external_keys *keys, struct slice key, struct slice value,
                       struct slice owner, int64_t revision, uint32_t generation);
void external_keys_delete(struct external_keys *keys, struct slice key);

/* Removes keys of other generations, after a full read. */
void external_keys_sweep(struct external_keys *keys, uint32_t generation);

/* Returns the owner of a key; empty: unknown, or not ours. Borrowed until the next change. */
struct slice external_keys_owner(const struct external_keys *keys, struct slice key);

/* Returns the revision that last wrote the key; 0: unknown. */
int64_t external_keys_revision(const struct external_keys *keys, struct slice key);

/* Returns whether somebody else has a key at the name. Keys for which is_exempt (NULL: none)
 * returns true do not count. */
bool external_keys_has_other(const struct external_keys *keys, struct slice name_key,
                             bool (*is_exempt)(const void *data, struct slice key),
                             const void *data);

/* Returns how many bytes of a key "/skydns/com/example/app/3f2a" with this value are its name:
 * with targetstrip 1, all before "/3f2a". 0: it has no name. */
size_t external_keys_name_len(struct slice key, struct slice value);

#endif
