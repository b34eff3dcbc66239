/* exechealthz's metrics: `exechealthz_` for its own, `kubedns_` for DNS probes.
 *
 * The latter are named by kube-dns's sidecar. On the loop's thread. */
#ifndef EXECHEALTHZ_METRICS_TABLE_H
#define EXECHEALTHZ_METRICS_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "exechealthz/dns_probe.h"
#include "exechealthz/dnsmasq_poll.h"
#include "exechealthz/health_actions.h"
#include "exechealthz/probe.h"

/* Holds the sources, borrowed during the call. */
struct metrics_sources {
    int64_t start_s; /* Unix time */
    struct probe *const *probes;
    size_t probe_count;
    struct dns_probe *const *dns_probes;
    size_t dns_count;
    const struct dnsmasq_poll *dnsmasq; /* NULL: none */
    const struct health_actions *actions;
};

/* Appends the page. */
void exechealthz_metrics_table_write(const struct metrics_sources *sources, struct buf *out);

#endif
