/* Encodes and decodes the bytes of etcd_mirror_save.
 *
 * They come back from a file, so they are read like anything from outside. Pure; any thread. */
#ifndef COMMON_ETCD_ETCD_SAVED_INTERNAL_H
#define COMMON_ETCD_ETCD_SAVED_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/slice.h"
#include "common/etcd/etcd_kv.h"
#include "common/etcd/etcd_store_id.h"

/* ---- The last revision, as a number ---- */

/* Condenses all changes of one revision to a number. With it the mirror recognises another data set
 * that has the last change seen, but also further changes in that revision. A data set restored
 * from a copy one transaction older can be like that: its writer repeats what is missing, and puts
 * more into the same revision. Pure; any thread.
 *
 * It sums over the changes, so their order does not matter. Nothing is seeded, so another process
 * of the same program computes the same. */
struct etcd_digest {
    int64_t revision; /* 0 = none */
    uint64_t puts;
    uint64_t dels; /* 0 = no deletes */
};

/* Returns the digest of the newest revision of these events, which are in order and whole
 * revisions; at least one. */
struct etcd_digest etcd_digest_of_last(const struct etcd_event *events, size_t count);

enum etcd_digest_verdict {
    ETCD_DIGEST_SAME,
    ETCD_DIGEST_OTHER,
    ETCD_DIGEST_UNCERTAIN, /* only deletes are missing: a compaction of this revision drops them */
};

/* Compares the digest with what a watch from known->revision began with, in order; events after
 * upto are news. */
enum etcd_digest_verdict etcd_digest_check(const struct etcd_digest *known, int64_t upto,
                                           const struct etcd_event *events, size_t count);

/* ---- The bytes ---- */

/* Holds what the bytes say. Slices are borrowed: from the mirror when appending, from the bytes
 * when reading. */
struct etcd_saved {
    int64_t revision; /* of the last commit, at least 1 */
    int64_t written;
    struct slice id;
    struct etcd_kv put;      /* a witness each (etcd_store_id.h), none newer than `revision`; */
    struct etcd_kv del;      /* mod_revision 0 = none */
    struct etcd_digest last; /* revision 0 = none */
    struct etcd_serial serial;
    bool wants_read; /* the owner wanted a read that has not begun */
    bool is_holding; /* keys of an earlier data set; else what follows is empty */
    int64_t held_ms; /* for how long, when saved */
    int64_t saved_s; /* Unix time at that moment */
    struct slice doubted_id;
};

/* Appends the bytes; sets out->failed if they do not fit. */
void etcd_saved_append(const struct etcd_saved *saved, struct buf *out);

/* Returns false if these are no such bytes. */
bool etcd_saved_read(struct slice bytes, struct etcd_saved *ret_saved) MUST_CHECK;

/* Returns how long keys have been held by now; a clock that went back counts nothing. */
int64_t etcd_saved_held_ms(const struct etcd_saved *saved, int64_t now_s);

#endif
