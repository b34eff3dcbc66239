/* Describes what kube2sky --top shows: the figures of /live (the man page documents them). */
#ifndef KUBE2SKY_TOP_VIEW_H
#define KUBE2SKY_TOP_VIEW_H

#include "common/live/live_screen.h"

extern const struct live_screen top_view;

#endif
