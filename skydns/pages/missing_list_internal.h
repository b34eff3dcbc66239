/* Lists the names of /missing: a copy of the sketch's entries, whose hints are found bit by bit, so
 * that nothing else of the main thread waits.
 *
 * Shows the MISSING_SHOWN_MAX most asked for, and as many aliases. Of several candidates of one
 * short name that are asked about alike by a namespace, it shows one: the first that a near name
 * explains, else the first. Of one namespace it shows MISSING_OF_SPACE_MAX while others wait. Main
 * thread. */
#ifndef SKYDNS_PAGES_MISSING_LIST_INTERNAL_H
#define SKYDNS_PAGES_MISSING_LIST_INTERNAL_H

#include "skydns/pages/missing_hint_internal.h"
#include "skydns/pages/missing_sketch.h"

struct metrics_sources;

enum {
    MISSING_SHOWN_MAX = 100,
    MISSING_OF_SPACE_MAX = 50,
    MISSING_LISTS_MAX = 4, /* at the same time, of 0.6 MiB each */
};

struct missing_row {
    struct missing_entry entry;
    struct missing_hint hint;
    bool is_shown;
};

struct missing_list {
    const struct metrics_sources *sources;
    size_t looked_at; /* rows with their hints */
    size_t count;
    struct missing_row rows[];
};

/* Begins a list; NULL: MISSING_LISTS_MAX are under way. The sources are borrowed. */
struct missing_list *missing_list_new(const struct metrics_sources *sources,
                                      const struct missing_sketch *sketch);
void missing_list_free(struct missing_list *list); /* NULL is fine */

/* Goes on for a few ms. Returns true once it is complete: is_shown is set. */
bool missing_list_look(struct missing_list *list);

static inline bool missing_row_is_alias(const struct missing_row *row)
{
    return row->hint.why == MISSING_TARGET;
}

#endif
