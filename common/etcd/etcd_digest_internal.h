/* All changes of one revision, as one number: how the mirror recognises that a store which has the
 * last change it saw has made others beside it. A store restored from a copy one transaction older
 * may do so: its writer, repeating what is missing, puts more into the same revision. Pure; any
 * thread. */
#ifndef COMMON_ETCD_ETCD_DIGEST_INTERNAL_H
#define COMMON_ETCD_ETCD_DIGEST_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "common/etcd/etcd_kv.h"

/* Sums over the changes, so in whatever order they come. Of another process of the same program,
 * too: nothing here is seeded. */
struct etcd_digest {
    int64_t revision; /* 0 = none */
    uint64_t puts;
    uint64_t dels; /* 0 = no deletes */
};

/* Of the newest revision among these, which are in order and whole revisions; at least one. */
struct etcd_digest etcd_digest_of_last(const struct etcd_event *events, size_t count);

enum etcd_digest_verdict {
    ETCD_DIGEST_SAME,
    ETCD_DIGEST_OTHER,
    ETCD_DIGEST_UNCERTAIN, /* only deletes are missing: a compaction of this revision drops them */
};

/* events: what a watch from known->revision began with, in order; those after upto are news. */
enum etcd_digest_verdict etcd_digest_check(const struct etcd_digest *known, int64_t upto,
                                           const struct etcd_event *events, size_t count);

#endif
