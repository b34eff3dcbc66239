/* Calls etcd's leases: keys put with a lease vanish once no client keeps it alive.
 *
 * Same loop, thread and rules as common/etcd/etcd.h. An expired lease is a response, not an error,
 * except for etcd_lease_revoke (ERR_NOT_FOUND).
 *
 * The caller's timer keeps a lease alive: each etcd_lease_keep_alive resets it once to its granted
 * TTL. */
#ifndef COMMON_ETCD_ETCD_LEASE_H
#define COMMON_ETCD_ETCD_LEASE_H

#include "common/etcd/etcd.h"

/* Gets exactly one of reply and err; the other is NULL. */
typedef void (*etcd_lease_cb)(void *data, const struct etcd_lease_reply *reply,
                              const struct err *err);

/* Grants a lease; id 0: etcd chooses one. etcd may grant a longer TTL, never a shorter one.
 * ERR_REFUSED: the id is taken, or the TTL is out of etcd's bounds. */
struct etcd_call *etcd_lease_grant(struct etcd *etcd, int64_t id, int64_t ttl_s, etcd_lease_cb cb,
                                   void *data);

/* Resets the lease to its granted TTL. */
struct etcd_call *etcd_lease_keep_alive(struct etcd *etcd, int64_t id, etcd_lease_cb cb,
                                        void *data);

/* Reads how much of the TTL is left, and leaves it as it is. */
struct etcd_call *etcd_lease_time_to_live(struct etcd *etcd, int64_t id, etcd_lease_cb cb,
                                          void *data);

typedef void (*etcd_revoke_cb)(void *data, const struct etcd_revoke_reply *reply,
                               const struct err *err);

/* Revokes the lease, which deletes its keys, too. */
struct etcd_call *etcd_lease_revoke(struct etcd *etcd, int64_t id, etcd_revoke_cb cb, void *data);

#endif
