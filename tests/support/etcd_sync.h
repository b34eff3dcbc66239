/* Synchronous wrappers of the asynchronous etcd client: each call runs the loop until its callback
 * was called. Everything else on the loop runs meanwhile. */
#ifndef TESTS_SUPPORT_ETCD_SYNC_H
#define TESTS_SUPPORT_ETCD_SYNC_H

#include <ev.h>
#include <stdbool.h>

#include "common/etcd/etcd.h"

/* Runs the loop until done(data); fails the test after a minute. */
void loop_until(struct ev_loop *loop, bool (*done)(const void *data), const void *data);

/* A client of these endpoints, without credentials. */
struct etcd *sync_client(struct ev_loop *loop, const char *endpoints, uint32_t call_timeout_ms);

/* Returns the call's code, with the message in err (which may be NULL). */
int sync_txn(struct ev_loop *loop, struct etcd *etcd, const struct etcd_txn *txn,
             struct etcd_txn_reply *ret_reply, struct err *err);

/* Fail the test if etcd refuses; return the revision. */
int64_t sync_put(struct ev_loop *loop, struct etcd *etcd, const char *key, struct slice value);
int64_t sync_del(struct ev_loop *loop, struct etcd *etcd, const char *key);

/* The key's value, which the caller frees; NULL if absent. */
char *sync_get(struct ev_loop *loop, struct etcd *etcd, const char *key);

void sync_del_prefix(struct ev_loop *loop, struct etcd *etcd, const char *prefix);

/* Puts PREFIX000000, PREFIX000001 and so on, all with this value, in transactions of 128. Returns
 * the last revision. */
int64_t sync_put_many(struct ev_loop *loop, struct etcd *etcd, const char *prefix, unsigned count,
                      struct slice value);

#endif
