/* Zone transfers on the metrics page. */
#ifndef SKYDNS_PAGES_METRICS_TRANSFERS_INTERNAL_H
#define SKYDNS_PAGES_METRICS_TRANSFERS_INTERNAL_H

#include "skydns/pages/metrics_table.h"

void metrics_transfers_write(struct metrics_page *page, const struct metrics_sources *all);

#endif
