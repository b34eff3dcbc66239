/* What skydns -top shows: the figures of /live (the man page documents them). Pure; any thread. */
#ifndef SKYDNS_PAGES_TOP_VIEW_H
#define SKYDNS_PAGES_TOP_VIEW_H

#include "common/live/live_model.h"
#include "common/term/screen.h"

/* All queries since the start. */
double top_view_queries(const struct live_node *event);

/* On a blank screen of any size. Before the first event: that it is waited for. */
void top_view_draw(const struct live_model *model, struct screen *screen);

#endif
