/* Opens the etcd client that the flags describe. Main thread. */
#ifndef SKYDNS_ETCD_CLIENT_H
#define SKYDNS_ETCD_CLIENT_H

#include <ev.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "skydns/settings/options.h"

struct etcd;
struct outage;
struct outage_source;

/* Opens the client. Reads the files for TLS, which are followed: changed ones that cannot be used
 * are logged. The flags are borrowed for as long as the client lives. */
int etcd_client_open(struct ev_loop *loop, const struct options *flags, struct etcd **ret_etcd,
                     struct err *err) MUST_CHECK;

/* Begins to tell whether etcd is followed: it counts as away until the source reports it back. Both
 * are the caller's. */
void etcd_client_watch(const struct etcd *etcd, int64_t timeout_ms, struct ev_loop *loop,
                       struct outage *outage, struct outage_source *followed);

#endif
