/* Adds up what the clients of each namespace have sent: since the start by result, for
 * skydns_namespace_queries_total, and in the last five minutes for /clients.
 *
 * Labels of the metric: at most `labels_max`, those of the busiest namespaces. A namespace gets its
 * label when its first queries come, as long as the cluster has no more namespaces than there are
 * labels. Otherwise the second half of them goes to namespaces that sent at least one query in
 * 4 * labels_max since the start. What came before, and the queries of all others, count for
 * the namespace "", and stay there. A label never goes, and no counter decreases.
 *
 * Main thread. */
#ifndef SKYDNS_PAGES_NAMESPACE_FIGURES_INTERNAL_H
#define SKYDNS_PAGES_NAMESPACE_FIGURES_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "skydns/pages/busy_clients_internal.h"
#include "skydns/tap/client_counts.h"

struct namespace_figures;

struct namespace_row {
    struct slice label;      /* empty: clients without a namespace, and namespaces beyond
                              * BUSY_GROUPS_MAX */
    bool is_labelled;        /* of the metric */
    const uint64_t *results; /* CLIENT_RESULTS of them, as the metric has them */
    const struct busy_window *window;
};

struct namespace_figures *namespace_figures_new(size_t labels_max);
void namespace_figures_free(struct namespace_figures *namespaces); /* NULL is fine */

/* Returns the number of a namespace, below BUSY_GROUPS_MAX; 0 for "", and if there is no room. */
unsigned namespace_figures_group(struct namespace_figures *namespaces, struct slice label);

/* Adds a client's queries in this part of the window. */
void namespace_figures_add(struct namespace_figures *namespaces, unsigned group, unsigned part,
                           const uint32_t counts[CLIENT_COUNTS],
                           const uint32_t figures[BUSY_FIGURES]);

/* Ends a round of adding: gives labels, the busiest of the round first. known_count: namespaces
 * that have clients. */
void namespace_figures_settle(struct namespace_figures *namespaces, size_t known_count);

/* Clears a part of the windows, and forgets namespaces of which nothing is left. */
void namespace_figures_turn(struct namespace_figures *namespaces, unsigned part);

/* Returns the row of a group; false: there is none. Borrowed until the next change. */
bool namespace_figures_row(const struct namespace_figures *namespaces, unsigned group,
                           struct namespace_row *ret);

#endif
