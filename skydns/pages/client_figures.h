/* Adds up what clients have sent, by namespace and for the busiest clients. Reads the counts of the
 * answering threads (client_counts.h), for skydns_namespace_queries_total and /clients.
 *
 *     client_counts of each thread --every second, and before a page--> client_figures
 *         address --> client_index: its namespace at that moment
 *             --> namespace_figures: since the start by result, and of the last five minutes
 *             --> busy_clients: of the last five minutes
 *
 * Threads count only while that is wanted: while the namespaces of clients are known, or for
 * CLIENT_FIGURES_WATCHED_MS after /clients was read. Otherwise a response costs nothing more.
 * While many clients come and go, the reads are CLIENT_FIGURES_SOON_MS apart. 1.5 MB at most beside
 * the threads' tables. Main thread. */
#ifndef SKYDNS_PAGES_CLIENT_FIGURES_H
#define SKYDNS_PAGES_CLIENT_FIGURES_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/metrics.h"

struct client_counts;
struct client_figures;
struct client_index;
struct query_tap;
struct worker;

enum {
    CLIENT_FIGURES_EVERY_MS = 1000,
    CLIENT_FIGURES_SOON_MS = 50,
    CLIENT_FIGURES_WATCHED_MS = 10 * 60 * 1000, /* twice the window */
    CLIENT_FIGURES_SHOWN = 50,
    CLIENT_FIGURES_NAMESPACES_SHOWN = 1000, /* the busiest: 300 KB */
};

/* All borrowed until client_figures_free. */
struct client_figures_config {
    struct ev_loop *loop;
    struct client_counts *const *counts; /* of each thread */
    size_t count;
    struct query_tap *tap;            /* turns counting on and off */
    const struct client_index *index; /* whose addresses are known */
    size_t labels_max;                /* -namespace-metrics */
    struct worker *const *workers;    /* say what an answer costs */
    size_t worker_count;
};

struct client_figures *client_figures_new(const struct client_figures_config *config);
void client_figures_free(struct client_figures *figures); /* NULL is fine */

/* Reads the threads' counts now. */
void client_figures_read(struct client_figures *figures);

/* Writes skydns_namespace_queries_total as of now. Nothing before anything was counted. */
void client_figures_write_metrics(struct client_figures *figures, struct metrics_page *page);

/* Appends the JSON of /clients as of now, and keeps the threads counting. has_autopath: search
 * lists are resolved here already. */
void client_figures_write_page(struct client_figures *figures, bool has_autopath, struct buf *out);

#endif
