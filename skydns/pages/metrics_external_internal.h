/* Writes the metrics about external names: response cache, stub zones, hosts files. Main thread. */
#ifndef SKYDNS_PAGES_METRICS_EXTERNAL_INTERNAL_H
#define SKYDNS_PAGES_METRICS_EXTERNAL_INTERNAL_H

#include "common/base/metrics.h"
#include "skydns/publish/engine_config.h"

struct resolver;

/* Adds them to the page; `config` is the newest. Returns the questions that were not in the
 * response cache, for SkyDNS's own metrics. */
uint64_t metrics_external_write(struct metrics_page *page, const struct engine_config *config,
                                const struct resolver *resolver);

#endif
