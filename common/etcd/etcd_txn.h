/* A transaction: operations that happen atomically, if the compares hold. Plain data: no client, no
 * I/O. */
#ifndef COMMON_ETCD_ETCD_TXN_H
#define COMMON_ETCD_ETCD_TXN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"

enum etcd_op_kind { ETCD_OP_PUT, ETCD_OP_DELETE };

struct etcd_op {
    enum etcd_op_kind kind;
    struct slice key;
    struct slice value; /* puts only, like the lease */
    int64_t lease;      /* 0 = none; ERR_NOT_FOUND if it is gone */
};

enum etcd_compare_target {
    ETCD_COMPARE_CREATE_REVISION,
    ETCD_COMPARE_MOD_REVISION,
    ETCD_COMPARE_VALUE,
};

struct etcd_compare { /* holds if the key's target is equal to: */
    enum etcd_compare_target target;
    struct slice key;
    int64_t revision;   /* 0 = the key does not exist */
    struct slice value; /* ETCD_COMPARE_VALUE */
};

struct etcd_txn {
    const struct etcd_compare *compares;
    size_t compare_count;
    const struct etcd_op *ops; /* run if all compares hold */
    size_t op_count;           /* etcd rejects more than its limit, and duplicate keys */
};

/* Equals etcd's --max-txn-ops by default. */
enum { ETCD_TXN_OPS_MAX = 128 };

struct etcd_txn_reply {
    int64_t revision;
    bool succeeded; /* the compares held */
};

#endif
