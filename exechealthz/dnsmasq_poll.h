/* Reads the counts of a DNS server's cache once per period, for the metrics of kube-dns's sidecar.
 *
 * dnsmasq gives them as TXT of hits.bind and the like in class CHAOS, and skydns does likewise, so
 * they come over UDP from another container. main() creates it, the metrics read it; everything on
 * one loop's thread.
 *
 * Each poll has a socket of its own and sends all queries at once. It counts as an error unless
 * each of them has a number before the next period; then the last numbers stay. They restart at 0
 * with the server, as counters may. A failure is logged once, and so is its end. */
#ifndef EXECHEALTHZ_DNSMASQ_POLL_H
#define EXECHEALTHZ_DNSMASQ_POLL_H

#include <ev.h>
#include <stdint.h>

#include "common/base/addr.h"

enum dnsmasq_count {
    DNSMASQ_HITS,
    DNSMASQ_MISSES,
    DNSMASQ_EVICTIONS,
    DNSMASQ_INSERTIONS,
    DNSMASQ_MAX_SIZE,
    DNSMASQ_COUNTS,
};

struct dnsmasq_counts {
    uint64_t values[DNSMASQ_COUNTS]; /* as the server last gave them; 0 before */
    uint64_t polls;                  /* completed */
    uint64_t errors;                 /* polls that failed */
};

struct dnsmasq_poll;

/* Copies the server's address. */
struct dnsmasq_poll *dnsmasq_poll_new(struct ev_loop *loop, const struct addr *server,
                                      int64_t period_ms);
/* NULL is fine. */
void dnsmasq_poll_free(struct dnsmasq_poll *poll);

/* Starts the first poll at once, and the period. */
void dnsmasq_poll_start(struct dnsmasq_poll *poll);

const struct dnsmasq_counts *dnsmasq_poll_counts(const struct dnsmasq_poll *poll);

#endif
