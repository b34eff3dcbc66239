/* etcd requests and responses as plain data, which the calls accept and return and the codec
 * converts.
 *
 * Transactions have their own header, etcd_txn.h. Field meanings: etcd API reference v3 (rpc.proto,
 * kv.proto); trimmed copies are in proto/. */
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
    int64_t revision; /* etcd's revision at the read (header.revision) */
    const struct etcd_kv *kvs;
    size_t count;
    bool more;     /* truncated by the limit */
    int64_t total; /* keys in the range, from etcd; 0: unknown */
};

/* ---- Lease ---- */

struct etcd_lease_reply {
    int64_t id;
    int64_t ttl_s;     /* left, rounded down; 0 or less: the lease is gone */
    int64_t granted_s; /* the full TTL, restored by keep_alive; 0 in keep_alive's response */
};

struct etcd_revoke_reply {
    int64_t revision; /* etcd's revision after the change */
};

/* ---- Status ---- */

struct etcd_status_reply { /* sizes at the member that answered; neither is negative */
    int64_t file_bytes;    /* its database, which its quota limits */
    int64_t in_use_bytes;  /* without what compactions have freed */
};

#endif
