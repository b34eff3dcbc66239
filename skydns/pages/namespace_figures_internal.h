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

/* Figures of a namespace; without a label, of clients without one, and of namespaces beyond
 * BUSY_GROUPS_MAX. */
struct namespace_sums {
    uint8_t label_len;
    char label[63];
    bool is_labelled; /* has a label of the metric */
    unsigned group;
    uint64_t seen;                    /* queries since the start */
    uint64_t results[CLIENT_RESULTS]; /* as the metric has them */
    uint64_t round[CLIENT_RESULTS];   /* since the last settlement */
    struct busy_window window;
};

static inline struct slice namespace_label(const struct namespace_sums *sums)
{
    return slice_of(sums->label, sums->label_len);
}

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

/* Clears a part of the windows, and forgets namespaces that have no queries left in them. */
void namespace_figures_turn(struct namespace_figures *namespaces, unsigned part);

/* Returns the figures of a group; NULL: there is none. Borrowed until the next change. */
const struct namespace_sums *namespace_figures_find(const struct namespace_figures *namespaces,
                                                    unsigned group);

#endif
