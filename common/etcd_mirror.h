/* A key range of etcd followed for ever: Range in pages pinned to one revision, then a watch from
 * the next; after compaction a new Range. skydns keeps its records by it, kube2sky its own keys.
 * Same loop and thread as its etcd.
 *
 * What the owner sees is a sequence of publications, each a whole revision or several:
 *
 *     full_begin put* commit(revision, full=true)       the range as it was at that revision: what
 *                                                       was held before and is not among the puts
 *                                                       is gone
 *     (put | del)* commit(revision, full=false)         changes since the last commit
 *
 * A full read that fails in the middle is begun again: full_begin may follow puts without a commit;
 * what came since the earlier full_begin is void. Nothing else may be taken from an uncommitted
 * sequence. Until the first commit the owner knows nothing. */
#ifndef COMMON_ETCD_MIRROR_H
#define COMMON_ETCD_MIRROR_H

#include "common/etcd.h"

struct etcd_mirror;

struct etcd_mirror_config {
    struct slice prefix; /* copied; empty = every key */
    int64_t page_size;   /* keys a Range page; 0 = 5,000: 12 MB peak, near the best time (14 MB a
                            100,000 keys). Halved by itself when a page is too large. */
    void (*full_begin)(void *data);
    void (*put)(void *data, const struct etcd_kv *kv);
    void (*del)(void *data, struct slice key, int64_t revision);
    void (*commit)(void *data, int64_t revision, bool full);
    /* The connection's state changed: err NULL = the watch is up and confirmed. Else why there are
     * no news from etcd; again when the kind of reason (err->code) changes. */
    void (*state)(void *data, const struct err *err);
    void *data;
};

struct etcd_mirror *etcd_mirror_start(struct etcd *etcd, const struct etcd_mirror_config *config);

/* No callback after it. Inside a callback: only from commit or state, as the last act. NULL is
 * fine. */
void etcd_mirror_stop(struct etcd_mirror *mirror);

#endif
