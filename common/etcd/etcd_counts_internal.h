/* What an etcd client counts since it was made. The client owns the one set, both its links and its
 * auth count in it, etcd_metrics.c shows it. Written on the client's thread, read by any (relaxed
 * counters, common/base/metrics.h). */
#ifndef COMMON_ETCD_ETCD_COUNTS_INTERNAL_H
#define COMMON_ETCD_ETCD_COUNTS_INTERNAL_H

#include "common/base/metrics.h"

struct etcd;

struct etcd_counts {
    struct counter connections;      /* opened */
    struct counter tls_connections;  /* of these */
    struct counter failures;         /* endpoints tried without success */
    struct counter refusals;         /* of these, by TLS, or by what is no etcd */
    struct counter credentials_read; /* TLS files that had changed, and are in use */
    struct counter credentials_kept; /* the same, and could not be used */
    struct counter tokens;           /* that etcd has given for the user name */
    struct counter token_failures;   /* it did not, or the password file could not be read */
};

/* Borrowed. In etcd.c. */
const struct etcd_counts *etcd_counts(const struct etcd *etcd);

#endif
