/* The JSON of one event of /live. Main thread. */
#ifndef SKYDNS_PAGES_LIVE_FIGURES_INTERNAL_H
#define SKYDNS_PAGES_LIVE_FIGURES_INTERNAL_H

#include "common/base/buf.h"
#include "skydns/pages/metrics_table.h"
#include "skydns/pages/top_names_internal.h"

/* Nameservers shown, those of the first zones: there may be 16,000, and an event has 256 KiB. */
enum { LIVE_NAMESERVERS_MAX = 64 };

enum { LIVE_CHANGES_MAX = 20 }; /* a screen of them */

/* Appends one line, without newline. */
void live_figures_write(const struct metrics_sources *sources, const struct top_names *top,
                        struct buf *out);

#endif
