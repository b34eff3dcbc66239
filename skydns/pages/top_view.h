/* Describes what skydns -top shows: the figures of /live and of /missing (the man page documents
 * them). */
#ifndef SKYDNS_PAGES_TOP_VIEW_H
#define SKYDNS_PAGES_TOP_VIEW_H

#include "common/live/live_screen.h"

extern const struct live_screen top_view;

#endif
