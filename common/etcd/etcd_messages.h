/* etcd requests and replies as plain data: accepted and returned by the calls of etcd.h and
 * etcd_lease.h, encoded and decoded by the codec. Transactions have their own header, etcd_txn.h.
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
    int64_t revision; /* of the store at the read (header.revision) */
    const struct etcd_kv *kvs;
    size_t count;
    bool more;     /* truncated by the limit */
    int64_t total; /* keys in the range, from etcd; 0: unknown */
};

/* ---- Lease ---- */

struct etcd_lease_reply {
    int64_t id;
    int64_t ttl_s;     /* left, rounded down; 0 or less: the lease is gone */
    int64_t granted_s; /* the full TTL, restored by keep_alive; 0 in keep_alive's reply */
};

struct etcd_revoke_reply {
    int64_t revision; /* of the store after the change */
};

/* ---- Status ---- */

struct etcd_status_reply { /* of the member asked; neither is negative */
    int64_t file_bytes;    /* its database, which its quota limits */
    int64_t in_use_bytes;  /* without what compactions have freed */
};

#endif
