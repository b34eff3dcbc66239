/* The bytes of etcd_mirror_save. They come back from a file, so they are read like anything from
 * outside. Pure; any thread. */
#ifndef COMMON_ETCD_ETCD_SAVED_INTERNAL_H
#define COMMON_ETCD_ETCD_SAVED_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/slice.h"
#include "common/etcd/etcd_digest_internal.h"
#include "common/etcd/etcd_kv.h"

/* Slices are borrowed: from the mirror when appending, from the bytes when reading. */
struct etcd_saved {
    int64_t revision; /* of the last commit, at least 1 */
    int64_t written;
    struct slice id;
    struct etcd_kv put;      /* a witness each (etcd_store_id.h), none newer than `revision`; */
    struct etcd_kv del;      /* mod_revision 0 = none */
    struct etcd_digest last; /* revision 0 = none */
    bool wants_read;         /* the owner wanted a read that has not begun */
    bool is_holding;         /* keys of an earlier store; else what follows is empty */
    int64_t held_ms;         /* for how long, when saved */
    int64_t saved_s;         /* then, Unix time */
    struct slice doubted_id;
};

/* What does not fit sets out->failed. */
void etcd_saved_append(const struct etcd_saved *saved, struct buf *out);

/* False: these are no such bytes. */
bool etcd_saved_read(struct slice bytes, struct etcd_saved *ret_saved) MUST_CHECK;

/* How long keys have been held by now; a clock that went back counts nothing. */
int64_t etcd_saved_held_ms(const struct etcd_saved *saved, int64_t now_s);

#endif
