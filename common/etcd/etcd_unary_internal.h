/* Calls of one request and one reply: what etcd.c and etcd_lease.c share. A call is made with
 * etcd_unary_new, filled in, given its encoded request, and started; from then on it looks after
 * itself. Loop and thread as common/etcd/etcd.h. */
#ifndef COMMON_ETCD_ETCD_UNARY_INTERNAL_H
#define COMMON_ETCD_ETCD_UNARY_INTERNAL_H

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/etcd/etcd.h"
#include "common/etcd/etcd_lease.h"

union etcd_reply {
    struct etcd_range_reply range;
    struct etcd_txn_reply txn;
    struct etcd_lease_reply lease;
    struct etcd_revoke_reply revoke;
};

struct etcd_unary {
    struct etcd *etcd;
    const char *path; /* "/etcdserverpb.KV/Range"; constant */
    bool is_watched;  /* on the watch line, not on that of calls */
    bool only_now;    /* see struct etcd_call_config */

    /* One of etcd_codec_internal.h, for the union's member. */
    int (*decode)(struct slice message, struct arena *arena, union etcd_reply *ret_reply,
                  struct err *err);
    /* Calls `cb`, cast back to what it was, with the reply when err is NULL. */
    void (*deliver)(const struct etcd_unary *unary, const struct err *err);
    void (*cb)(void);
    void *data;

    /* What the call touches, for the message when the permission is missing; etcd_unary_touches. */
    const char *verb; /* "read"; NULL = nothing to tell */
    struct slice key;
    struct slice range_end;
    size_t key_count; /* more than one: those from `key` to `range_end`, both included */

    struct buf request; /* to be encoded into */
    struct arena *into; /* the caller's, for the reply; NULL: it is gone with the call */
    struct arena arena;
    bool has_reply;
    union etcd_reply reply;
};

struct etcd_unary *etcd_unary_new(struct etcd *etcd, const char *path);

/* Key and range end are copied. */
void etcd_unary_touches(struct etcd_unary *unary, const char *verb, struct slice key,
                        struct slice range_end);

struct etcd_call *etcd_unary_start(struct etcd_unary *unary);

#endif
