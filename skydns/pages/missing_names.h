/* Finds out which names of our domains are asked for and do not exist, for /missing: takes samples
 * of NXDOMAIN (query_tap.h) a few times a second, and counts those that are somebody's mistake.
 *
 * Most NXDOMAINs are no mistake: a pod that looks up `example.com` first asks for
 * `example.com.prod.svc.cluster.local.`, `example.com.svc.cluster.local.` and
 * `example.com.cluster.local.`, since its search list says so. A name is left out (and counted as
 * an expansion) if, without a suffix of the client's search list,
 *
 *   - it is a whole name of our domains: that one is asked next;
 *   - a later candidate has records: the search went on and found it;
 *   - it has two labels or more, nothing is like the name, its namespace does not exist, and other
 *     candidates are asked alike, so that it is the first part of an external name.
 *
 * What is left may still have several candidates of one mistake (`wbe` asked by prod:
 * `wbe.prod.svc...`, `wbe.svc...`, `wbe...`): missing_list_internal.h shows one, the one that the
 * nearest name explains, else the first.
 *
 * Bounds: a look at a name (missing_hint_find) takes some ms in the largest namespaces, so a turn
 * looks at LOOKS_MAX new names, of which LOOKS_ONCE_MAX were sampled once: random names use these
 * up, and no others. Memory: the sketch, 1.0 MiB, and the samples under way, 0.3. Main thread. */
#ifndef SKYDNS_PAGES_MISSING_NAMES_H
#define SKYDNS_PAGES_MISSING_NAMES_H

#include <ev.h>
#include <stdint.h>

#include "skydns/pages/missing_sketch.h"

struct metrics_sources;
struct missing_names;
struct name_sample;

/* Makes it, and takes samples from now on; the sources are borrowed, and set before the loop
 * runs. */
struct missing_names *missing_names_new(struct ev_loop *loop,
                                        const struct metrics_sources *sources);
void missing_names_free(struct missing_names *names); /* NULL is fine */

/* Takes the samples that are waiting; the timer does so 4 times a second. */
void missing_names_take(struct missing_names *names);

/* Counts one sample. */
void missing_names_add(struct missing_names *names, const struct name_sample *sample);

/* ---- Counts ---- */

const struct missing_sketch *missing_names_sketch(const struct missing_names *names); /* borrowed */

uint64_t missing_names_expansions(const struct missing_names *names); /* samples left out */

/* Returns for how many seconds samples have been taken, at most an hour. */
int64_t missing_names_span_s(const struct missing_names *names);

/* Counts of an upstream within the hour. */
struct missing_upstream {
    uint64_t queries, failures, timeouts;
};

/* Returns those of an item of upstream_figures. */
struct missing_upstream missing_names_upstream(const struct missing_names *names, size_t item);

#endif
