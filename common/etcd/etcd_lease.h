/* The lease calls of etcd: keys put with a lease go when nobody keeps it alive any more. Same loop,
 * thread and rules as common/etcd/etcd.h; a lease that is gone is an answer here, no error, but for
 * etcd_lease_revoke (ERR_NOT_FOUND).
 *
 * Keeping a lease alive is the caller's timer: each etcd_lease_keep_alive sets it back to its
 * granted TTL once. */
#ifndef COMMON_ETCD_ETCD_LEASE_H
#define COMMON_ETCD_ETCD_LEASE_H

#include "common/etcd/etcd.h"

/* reply is NULL when err is set, and the other way round. */
typedef void (*etcd_lease_cb)(void *data, const struct etcd_lease_reply *reply,
                              const struct err *err);

/* id 0: etcd chooses one. etcd may grant more than was asked for, never less. ERR_REFUSED: the id
 * is taken, or the TTL out of etcd's bounds. */
struct etcd_call *etcd_lease_grant(struct etcd *etcd, int64_t id, int64_t ttl_s, etcd_lease_cb cb,
                                   void *data);

struct etcd_call *etcd_lease_keep_alive(struct etcd *etcd, int64_t id, etcd_lease_cb cb,
                                        void *data);

struct etcd_call *etcd_lease_time_to_live(struct etcd *etcd, int64_t id, etcd_lease_cb cb,
                                          void *data);

typedef void (*etcd_revoke_cb)(void *data, const struct etcd_revoke_reply *reply,
                               const struct err *err);

/* Its keys are deleted with it. */
struct etcd_call *etcd_lease_revoke(struct etcd *etcd, int64_t id, etcd_revoke_cb cb, void *data);

#endif
