/* Writes the metrics of -dnssec (signatures, keys, queries that waited) and of zone transfers.
 * Main thread. */
#ifndef SKYDNS_PAGES_METRICS_ZONES_INTERNAL_H
#define SKYDNS_PAGES_METRICS_ZONES_INTERNAL_H

#include <stdint.h>

#include "skydns/pages/metrics_table.h"

/* Writes nothing if no zone is signed. Returns how many signatures were needed and not in the
 * signature cache. */
uint64_t metrics_dnssec_write(struct metrics_page *page, const struct metrics_sources *sources);

/* Writes the metrics of zone transfers. */

void metrics_transfers_write(struct metrics_page *page, const struct metrics_sources *all);

#endif
