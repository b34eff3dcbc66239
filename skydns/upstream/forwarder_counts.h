/* Counts for the forwarder, its exchanges and its probes. The resolver's thread writes, any thread
 * reads (relaxed counters, common/base/metrics.h). */
#ifndef SKYDNS_UPSTREAM_FORWARDER_COUNTS_H
#define SKYDNS_UPSTREAM_FORWARDER_COUNTS_H

#include <stdalign.h>

#include "common/base/metrics.h"

struct forwarder_counts {
    /* Since the start: */
    alignas(COUNTERS_ALIGN) struct counter shared; /* queries that joined an outstanding question */
    struct counter unshared;    /* of them, those that got no share of its response: too many bytes
                                 * (reply_portions_internal.h) */
    struct counter tcp_retries; /* truncated or malformed responses retried over TCP */
    struct counter tcp_refused; /* those that found no place over TCP */
    struct counter fallbacks;   /* denials of stub zones asked again elsewhere (-stub-fallback) */
    struct counter probes;      /* sent to dead servers */

    /* Now: */
    struct counter questions;  /* outstanding questions */
    struct counter tcp;        /* of their exchanges, those over TCP */
    struct counter background; /* of them, those that no query waits for */
    struct counter probing;    /* probes under way */
    struct counter servers;    /* the general upstreams */
    struct counter dead;       /* of them: silent, or leading back here */
    struct counter looping;    /* of them: leading back here */
};

#endif
