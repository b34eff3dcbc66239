/* Chooses which queries get a line in the log (-query-log), and writes that line:
 *
 *     query namespace=default pod=web-0 node=n1 client=10.1.0.7:40000 transport=udp \
 *         name=web.default.svc.cluster.local. type=A flags=rd,ad rcode=NOERROR size=83 \
 *         seconds=0.000041
 *
 * Namespace, pod and node are there if they are known (client_index.h). Pure but for the writing,
 * which never waits (log.h). Any thread that answers. */
#ifndef SKYDNS_TAP_QUERY_LOG_H
#define SKYDNS_TAP_QUERY_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"

struct query_seen;

enum query_log_mode {
    QUERY_LOG_OFF,
    QUERY_LOG_ALL,
    QUERY_LOG_ERRORS,  /* SERVFAIL, REFUSED, FORMERR, NOTIMP */
    QUERY_LOG_DENIALS, /* NXDOMAIN and NODATA */
    QUERY_LOG_SOME,    /* one in `every`, at random */
};

struct query_log_rule {
    enum query_log_mode mode;
    uint32_t every; /* of SOME: 1 to QUERY_LOG_EVERY_MAX; else 0 */
};

enum { QUERY_LOG_EVERY_MAX = 1000000 }; /* at 100,000 queries/s, six lines a minute */

bool query_log_wants(struct query_log_rule rule, const struct query_seen *seen);

/* Writes the line. Returns false if it is lost, since the log is read too slowly. */
bool query_log_write(const struct query_seen *seen);

/* Logs once an hour, for the operator, that a client may not query at all. */
void query_log_not_allowed(const struct addr *client);

#endif
