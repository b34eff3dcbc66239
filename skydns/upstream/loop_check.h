/* Finds a nameserver that leads back to this program, directly or through others: every forwarded
 * query would go round until somebody gives up. Each server is asked for a random name that nobody
 * else knows; when a client asks us for it, that client was the server. On the resolver's loop and
 * thread. */
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

/* Asks each of them, at most UPSTREAMS_MAX, again every two seconds until it replies, five times at
 * most: it may still be starting. `labels`: as many has the name, so that it is forwarded at all.
 */
void loop_check_start(struct loop_check *check, const struct addr *servers, size_t count,
                      unsigned labels);

/* A client asks for this name. The server that it was sent to; NULL when it is none of ours. */
const struct addr *loop_check_find(const struct loop_check *check, const struct dname *name);

#endif
