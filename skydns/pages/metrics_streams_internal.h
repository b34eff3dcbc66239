/* The part of the metrics that connections have: how many by transport, TLS handshakes, and when
 * the certificate ends. Main thread. */
#ifndef SKYDNS_PAGES_METRICS_STREAMS_INTERNAL_H
#define SKYDNS_PAGES_METRICS_STREAMS_INTERNAL_H

#include "skydns/pages/metrics_table.h"

/* What has no listener is left out. */
void metrics_streams_write(struct metrics_page *page, const struct metrics_sources *sources);

#endif
