/* Writes the JSON of one event of `GET /live`, which the man page documents; and describes what
 * --top shows of it. On the main loop. */
#ifndef KUBE2SKY_LIVE_FIGURES_H
#define KUBE2SKY_LIVE_FIGURES_H

#include "common/base/buf.h"
#include "common/live/live_screen.h"
#include "kube2sky/metrics_table.h"

/* Limits the changes in an event, the latest first. */
enum { LIVE_CHANGES_MAX = 20 };

/* Appends one line without newline. */
void kube2sky_live_figures_write(const struct metrics_sources *sources, struct buf *out);

/* The screen of kube2sky --top. */
extern const struct live_screen top_view;

#endif
