/* The part of the metrics that -dnssec has: signatures, keys, and queries that waited for the
 * signers. Main thread. */
#ifndef SKYDNS_PAGES_METRICS_ZONES_INTERNAL_H
#define SKYDNS_PAGES_METRICS_ZONES_INTERNAL_H

#include <stdint.h>

#include "skydns/pages/metrics_table.h"

/* Nothing, if nothing is signed. Returns how many signatures were asked for and not kept. */
uint64_t metrics_dnssec_write(struct metrics_page *page, const struct metrics_sources *sources);

/* Zone transfers on the metrics page. */

void metrics_transfers_write(struct metrics_page *page, const struct metrics_sources *all);

#endif
