/* Requests to etcd and its replies as plain data: what the calls of etcd.h and etcd_lease.h take
 * and give, and the codec reads and writes. Transactions have a header of their own, etcd_txn.h.
 *
 * Field meanings: etcd API reference v3 (rpc.proto, kv.proto); trimmed copies are in proto/. */
#ifndef COMMON_ETCD_ETCD_MESSAGES_H
#define COMMON_ETCD_ETCD_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "common/etcd/etcd_kv.h"

/* ---- Range ---- */

struct etcd_range {
    struct slice key;
    struct slice range_end; /* empty = the one key; see etcd_prefix_end */
    int64_t limit;          /* 0 = no limit */
    int64_t revision;       /* 0 = newest */
    bool keys_only;
};

struct etcd_range_reply {
    int64_t revision; /* of the store when it was read (header.revision) */
    const struct etcd_kv *kvs;
    size_t count;
    bool more;     /* the limit cut it */
    int64_t total; /* keys of the range, as etcd says; 0: it does not */
};

/* ---- Lease ---- */

struct etcd_lease_reply {
    int64_t id;
    int64_t ttl_s;     /* left, rounded down; 0 or less: the lease is gone */
    int64_t granted_s; /* what it begins with, and again when kept alive; 0 from keep_alive */
};

struct etcd_revoke_reply {
    int64_t revision; /* of the store behind the change */
};

#endif
