#include "kube2sky/owners.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/xalloc.h"

#define uthash_malloc(size)    xmalloc(size)
#define uthash_free(ptr, size) free(ptr)
#include <uthash.h>

struct entry {
    struct owner owner; /* first, so that an owner's address is its entry's */
    UT_hash_handle hh;
    char id[];
};

struct owners {
    char *prefix;
    size_t prefix_len;
    struct entry *table;
    struct owner *first;
    struct owner *last;
    size_t queued;
    size_t held;
    size_t key_count;
};

struct owners *owners_new(struct slice prefix)
{
    struct owners *owners = xcalloc(1, sizeof(*owners));
    owners->prefix = xstrndup(prefix.ptr, prefix.len);
    owners->prefix_len = prefix.len;
    return owners;
}

static void discard(struct owners *owners, struct entry *entry)
{
    HASH_DEL(owners->table, entry);
    actual_fini(&entry->owner.actual);
    free(entry);
}

void owners_free(struct owners *owners)
{
    struct entry *entry, *next;
    if (!owners) {
        return;
    }
    HASH_ITER(hh, owners->table, entry, next)
    {
        discard(owners, entry);
    }
    free(owners->prefix);
    free(owners);
}

struct owner *owners_find(const struct owners *owners, struct slice id)
{
    struct entry *entry;
    HASH_FIND(hh, owners->table, id.ptr, id.len, entry);
    return entry ? &entry->owner : NULL;
}

struct owner *owners_get(struct owners *owners, struct slice id)
{
    struct owner *owner = owners_find(owners, id);
    if (owner) {
        return owner;
    }
    struct entry *entry = xcalloc(1, sizeof(*entry) + id.len);
    memcpy(entry->id, id.ptr, id.len);
    entry->owner.id = slice_of(entry->id, id.len);
    HASH_ADD_KEYPTR(hh, owners->table, entry->id, id.len, entry);
    return &entry->owner;
}

void owners_base(const struct owners *owners, const struct owner *owner, struct buf *out)
{
    buf_clear(out);
    buf_append(out, owners->prefix, owners->prefix_len);
    buf_append_slice(out, owner->id);
}

/* ---- What the mirror tells ---- */

/* A key below the prefix: two segments that name the owner, and the rest. */
struct parted_key {
    struct slice id;
    struct slice suffix;
};

static struct parted_key part(const struct owners *owners, struct slice key)
{
    const char *begin = key.ptr + owners->prefix_len, *end = key.ptr + key.len;
    const char *slash = memchr(begin, '/', (size_t)(end - begin));
    slash = slash ? memchr(slash + 1, '/', (size_t)(end - slash - 1)) : NULL;
    const char *middle = slash ? slash : end;
    return (struct parted_key){
        .id = slice_of(begin, (size_t)(middle - begin)),
        .suffix = slice_of(middle, (size_t)(end - middle)),
    };
}

struct owner *owners_key_put(struct owners *owners, struct slice key, struct slice value,
                             uint32_t generation)
{
    struct parted_key parted = part(owners, key);
    struct owner *owner = owners_get(owners, parted.id);
    size_t before = owner->actual.count;
    bool has_changed = actual_put(&owner->actual, parted.suffix, value, generation);
    owners->key_count += owner->actual.count - before;
    return has_changed ? owner : NULL;
}

struct owner *owners_key_delete(struct owners *owners, struct slice key)
{
    struct parted_key parted = part(owners, key);
    struct owner *owner = owners_find(owners, parted.id);
    if (!owner || !actual_delete(&owner->actual, parted.suffix)) {
        return NULL;
    }
    owners->key_count--;
    return owner;
}

bool owners_has_key(const struct owners *owners, struct slice key)
{
    struct parted_key parted = part(owners, key);
    const struct owner *owner = owners_find(owners, parted.id);
    return owner && actual_find(&owner->actual, parted.suffix);
}

bool owners_sweep(struct owners *owners, struct owner *owner, uint32_t generation)
{
    size_t swept = actual_sweep(&owner->actual, generation);
    owners->key_count -= swept;
    return swept > 0;
}

size_t owners_key_count(const struct owners *owners)
{
    return owners->key_count;
}

/* ---- The table ---- */

void owners_forget_if_empty(struct owners *owners, struct owner *owner)
{
    if (owner->state == OWNER_SETTLED && owner->actual.count == 0 && owner->desired_count == 0) {
        discard(owners, (struct entry *)owner);
    }
}

void owners_each(struct owners *owners, void (*fn)(void *data, struct owner *owner), void *data)
{
    struct entry *entry, *next;
    HASH_ITER(hh, owners->table, entry, next)
    {
        fn(data, &entry->owner);
    }
}

/* ---- The queue ---- */

void owners_enqueue(struct owners *owners, struct owner *owner)
{
    assert(owner->state == OWNER_SETTLED || owner->state == OWNER_HELD);
    owners->held -= owner->state == OWNER_HELD;
    owner->state = OWNER_QUEUED;
    owner->queue_next = NULL;
    if (owners->last) {
        owners->last->queue_next = owner;
    } else {
        owners->first = owner;
    }
    owners->last = owner;
    owners->queued++;
}

struct owner *owners_first(const struct owners *owners)
{
    return owners->first;
}

void owners_dequeue(struct owners *owners, enum owner_state state)
{
    struct owner *owner = owners->first;
    owners->first = owner->queue_next;
    if (!owners->first) {
        owners->last = NULL;
    }
    owner->queue_next = NULL;
    owner->state = state;
    owners->queued--;
    owners->held += state == OWNER_HELD;
}

static void release(void *data, struct owner *owner)
{
    if (owner->state == OWNER_HELD) {
        owners_enqueue(data, owner);
    }
}

void owners_hold_release(struct owners *owners)
{
    if (owners->held) {
        owners_each(owners, release, owners);
    }
}

size_t owners_queued(const struct owners *owners)
{
    return owners->queued;
}

size_t owners_held(const struct owners *owners)
{
    return owners->held;
}
