/* Repeats one query to one DNS server and holds the last result.
 *
 * It works like a command with nslookup, but without a shell or libc's resolver. main() creates it,
 * the HTTP handlers read it; everything on one loop's thread.
 *
 *     every period ──▶ UDP query, again each second ──▶ response, error or timeout ──▶ result
 *                  or: tls_query.h, once
 *
 * Each run has a socket of its own, with an unpredictable port and id, and over TLS a new session,
 * as a new client has. A run succeeds if the response has an answer, or is truncated, which proves
 * that there is one. The first run starts at once; a run longer than the period is followed by the
 * next when it ends. */
#ifndef EXECHEALTHZ_DNS_PROBE_H
#define EXECHEALTHZ_DNS_PROBE_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/metrics.h"
#include "exechealthz/dns_target.h"
#include "exechealthz/probe_settings.h"

struct tls_client;

struct dns_probe_config {
    const struct dns_target *target; /* borrowed until dns_probe_free */
    struct tls_client *tls;          /* the same; for targets over TLS and HTTPS */
    struct probe_settings settings;
};

struct dns_probe_counts {
    uint64_t runs; /* completed */
    uint64_t failures;
    struct histogram latency; /* counts the successful ones: dns_latency_scale */
};

struct dns_probe;

/* Copies config. */
struct dns_probe *dns_probe_new(struct ev_loop *loop, const struct dns_probe_config *config);
/* NULL is fine. */
void dns_probe_free(struct dns_probe *probe);

/* Starts the first run at once, and the period. */
void dns_probe_start(struct dns_probe *probe);

const struct dns_target *dns_probe_target(const struct dns_probe *probe);
const struct dns_probe_counts *dns_probe_counts(const struct dns_probe *probe);

/* Returns whether it is healthy at this time (clock_monotonic_ms); before the first result it is,
 * unless it starts unhealthy. When unhealthy, appends a line with the reason. */
bool dns_probe_report(const struct dns_probe *probe, int64_t now_ms, struct buf *reply);

/* Reports health as kube-dns's sidecar does: true if the last run had an answer, false before the
 * first one. Appends {"IsOk":true,"LatencySeconds":0.0012,"Err":""}. */
bool dns_probe_healthcheck(const struct dns_probe *probe, struct buf *reply);

/* Counts durations in us, shown as milliseconds on the page. */
extern const struct histogram_scale dns_latency_scale;

#endif
