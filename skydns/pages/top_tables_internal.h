/* The tables of skydns -top, the most important first. Pure; any thread. */
#ifndef SKYDNS_PAGES_TOP_TABLES_INTERNAL_H
#define SKYDNS_PAGES_TOP_TABLES_INTERNAL_H

#include <stddef.h>

#include "common/live/live_model.h"
#include "common/term/panels.h"

/* The higher the screen, the longer the lists. */
void top_tables_add(const struct live_model *model, size_t height, struct panels *panels);

#endif
