/* What kube2sky --top shows: the figures of /live (the man page documents them). Pure; any thread.
 */
#ifndef KUBE2SKY_TOP_VIEW_H
#define KUBE2SKY_TOP_VIEW_H

#include "common/live/live_model.h"
#include "common/term/screen.h"

/* All operations sent to etcd since the start. */
double top_view_operations(const struct live_node *event);

/* On a blank screen of any size. Before the first event: that it is waited for. */
void top_view_draw(const struct live_model *model, struct screen *screen);

#endif
