/* One question asked of one DNS server again and again, and what came of it last: what a command
 * with nslookup tells, without a shell and without libc's resolver. main() makes it, the HTTP
 * handlers ask it; everything on one loop's thread.
 *
 *     every period ──▶ UDP query, again each second ──▶ reply, error or timeout ──▶ result
 *
 * Each run has a socket of its own, with a port and an id that nobody can guess. A run succeeds
 * when the reply has an answer, or is truncated, which says that there is one. The first run starts
 * at once; one that takes longer than the period is followed by the next when it ends. */
#ifndef EXECHEALTHZ_DNS_PROBE_H
#define EXECHEALTHZ_DNS_PROBE_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "exechealthz/dns_target.h"

enum { DNS_LATENCY_BOUNDS = 16 };

/* How long the successful runs took: buckets from 0.25 ms, each twice the one before. */
struct dns_latency {
    uint64_t buckets[DNS_LATENCY_BOUNDS + 1]; /* each up to its bound; the last one is the rest */
    uint64_t sum_us;
};

struct dns_probe_config {
    const struct dns_target *target; /* borrowed until dns_probe_free */
    int64_t period_ms;
    int64_t latency_ms; /* an older result is none, for dns_probe_report */
    int64_t timeout_ms; /* a run without a reply by then has failed */
    bool is_quiet;      /* log changes of health only, not every run */
    bool starts_unhealthy;
};

struct dns_probe_counts {
    uint64_t runs; /* ended ones */
    uint64_t failures;
    struct dns_latency latency;
};

struct dns_probe;

/* config is copied. */
struct dns_probe *dns_probe_new(struct ev_loop *loop, const struct dns_probe_config *config);
/* NULL is fine. */
void dns_probe_free(struct dns_probe *probe);

void dns_probe_start(struct dns_probe *probe);

const struct dns_target *dns_probe_target(const struct dns_probe *probe);
const struct dns_probe_counts *dns_probe_counts(const struct dns_probe *probe);

/* True: healthy at this time (clock_monotonic_ms); without a result yet it is, unless told
 * otherwise. When unhealthy a line with the reason is appended. */
bool dns_probe_report(const struct dns_probe *probe, int64_t now_ms, struct buf *reply);

/* As kube-dns' sidecar tells it: true when the last run had an answer, false before the first one;
 * {"IsOk":true,"LatencySeconds":0.0012,"Err":""} is appended. */
bool dns_probe_healthcheck(const struct dns_probe *probe, struct buf *reply);

/* The upper bound of a bucket, in milliseconds. */
double dns_latency_bound_ms(unsigned bucket);

#endif
