/* Counts what an etcd client has done since its creation, for etcd_metrics.c.
 *
 * The client owns the counters; both its links and its auth count in them. Written on the client's
 * thread, read by any (relaxed counters, common/base/metrics.h). */
#ifndef COMMON_ETCD_ETCD_COUNTS_INTERNAL_H
#define COMMON_ETCD_ETCD_COUNTS_INTERNAL_H

#include "common/base/metrics.h"

struct etcd;

struct etcd_counts {
    struct counter connections;      /* opened */
    struct counter tls_connections;  /* of these */
    struct counter failures;         /* endpoints tried without success */
    struct counter refusals;         /* of these, by TLS or by something other than etcd */
    struct counter credentials_read; /* changed TLS files now in use */
    struct counter credentials_kept; /* changed TLS files that were unusable */
    struct counter tokens;           /* issued by etcd for the user name */
    struct counter token_failures;   /* etcd issued none, or the password file was unreadable */
};

/* Returns the client's counters, borrowed. In etcd.c. */
const struct etcd_counts *etcd_counts(const struct etcd *etcd);

#endif
