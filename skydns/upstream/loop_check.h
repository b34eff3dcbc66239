/* Detects a nameserver that leads back to this program, directly or through others: every forwarded
 * query would circulate until somebody gives up. Asks each server for a random name that nobody
 * else knows; if a client then asks us for that name, the server forwards to us. On the resolver's
 * loop and thread. */
#ifndef SKYDNS_UPSTREAM_LOOP_CHECK_H
#define SKYDNS_UPSTREAM_LOOP_CHECK_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/addr.h"
#include "common/dns/dname.h"

struct loop_check;

struct loop_check *loop_check_new(struct ev_loop *loop);
void loop_check_free(struct loop_check *check); /* NULL is fine */

/* Asks each server (at most UPSTREAMS_MAX) every two seconds until it replies, at most five times,
 * since it may still be starting. `labels`: how many the name needs to be forwarded. */
void loop_check_start(struct loop_check *check, const struct addr *servers, size_t count,
                      unsigned labels);

/* The server that was asked for this name; NULL: the name is not one of ours. */
const struct addr *loop_check_find(const struct loop_check *check, const struct dname *name);

#endif
