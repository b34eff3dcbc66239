/* The mirror of etcd behind a store_sync, as a test plays it: what it says of itself, and of
 * records. The test itself defines etcd_mirror_start and _stop. */
#ifndef TESTS_UNIT_SKYDNS_SYNC_PLAYED_MIRROR_H
#define TESTS_UNIT_SKYDNS_SYNC_PLAYED_MIRROR_H

#include "common/base/buf.h"
#include "common/dns/dname.h"
#include "common/etcd/etcd_mirror.h"
#include "tests/support/unit_test.h"

static struct etcd_mirror_config mirror;
static struct etcd_mirror_config other_key; /* of the second domain */
static struct etcd_mirror_counts mirror_counts;
static unsigned rereads;
static char main_mirror, key_mirror; /* what the pointers point to */

struct etcd_mirror_counts etcd_mirror_counts(const struct etcd_mirror *asked)
{
    assert_ptr_equal(asked, &main_mirror);
    return mirror_counts;
}

void etcd_mirror_reread(struct etcd_mirror *asked)
{
    assert_ptr_equal(asked, &main_mirror);
    rereads++;
}

const char *etcd_mirror_cause_text(enum etcd_mirror_cause cause)
{
    return cause == ETCD_MIRROR_FIRST ? "first" : "another";
}

/* Bytes that the mirror writes; it believes nothing else. */
static const char saved_mirror[] = "evidence";
static bool can_save_mirror = true;

bool etcd_mirror_save(const struct etcd_mirror *asked, struct buf *out)
{
    assert_ptr_equal(asked, &main_mirror);
    buf_append_str(out, can_save_mirror ? saved_mirror : "");
    return can_save_mirror;
}

bool etcd_mirror_is_saved(struct slice saved)
{
    return slice_equal(saved, slice_str(saved_mirror));
}

static inline void played_put(const char *key, const char *value, int64_t revision)
{
    struct etcd_kv kv = {
        .key = slice_str(key), .value = slice_str(value), .mod_revision = revision};
    mirror.put(mirror.data, &kv);
}

static inline void played_del(const char *key, int64_t revision)
{
    mirror.del(mirror.data, slice_str(key), revision);
}

static inline void played_store_key(const char *id, bool has_read)
{
    mirror.store_key_seen(mirror.data, slice_str(id), has_read);
}

/* Sets the store key of the second domain. */
static inline void played_other_store_key(const char *id)
{
    other_key.store_key_seen(other_key.data, slice_str(id), false);
}

static inline void played_commit(int64_t revision, bool full)
{
    mirror.commit(mirror.data, revision, full);
}

#endif
