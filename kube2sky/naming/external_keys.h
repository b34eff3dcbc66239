/* etcd's keys with external names, as the mirror of SkyDNS's tree shows them: which are an owner's
 * of ours ("alias/prod/web", ownership_internal.h), and which names have keys of somebody else, a
 * person, external-dns or the ConfigMap. A key's name is its own without the first `targetstrip`
 * labels: external-dns writes 1. Of others' keys, only those are kept whose name could be written
 * for somebody (override_zones.h): without --override-zones, none.
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
    /* A key of somebody else's has come to the name "/skydns/com/example/app", or gone from it.
     * Called from inside; must not call back. */
    void (*changed)(void *data, struct slice name_key);
    void *data;
};

struct external_keys *external_keys_new(const struct external_keys_config *config);
void external_keys_free(struct external_keys *keys); /* NULL is fine */

/* The mirror shows the key with this value. owner: whose it is, empty: somebody else's. generation:
 * of the full read that last saw it. */
void external_keys_put(struct external_keys *keys, struct slice key, struct slice value,
                       struct slice owner, int64_t revision, uint32_t generation);
void external_keys_delete(struct external_keys *keys, struct slice key);

/* After a full read: removes keys of other generations. */
void external_keys_sweep(struct external_keys *keys, uint32_t generation);

/* Returns the owner of a key; empty: unknown, or not ours. Borrowed until the next change. */
struct slice external_keys_owner(const struct external_keys *keys, struct slice key);

/* The revision that last wrote it; 0: unknown. */
int64_t external_keys_revision(const struct external_keys *keys, struct slice key);

/* Whether somebody else has a key at the name, one for which is_exempt, if not NULL, is false. */
bool external_keys_has_other(const struct external_keys *keys, struct slice name_key,
                             bool (*is_exempt)(const void *data, struct slice key),
                             const void *data);

/* The name of a key "/skydns/com/example/app/3f2a" with this value: how much of the key it is; 0:
 * it has none. */
size_t external_keys_name_len(struct slice key, struct slice value);

/* Keys of others that are kept. */
size_t external_keys_others(const struct external_keys *keys);

#endif
