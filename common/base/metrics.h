/* What a program tells about itself, in Prometheus' text format (version 0.0.4). A program's own
 * metrics_table.c is the list of its metrics: it writes a page line by line when somebody asks,
 * from the counts that the modules keep anyway. Nothing else writes this format.
 *
 * A module that counts has a struct of its counters, which the table reads in place. A new counter
 * is a field of that struct, the line that counts, its line in the table and in the man page.
 *
 * A struct counter has one writer and any reader, no lock and no locked instruction; whoever puts
 * counters of several threads side by side keeps them on lines of their own. What only the main
 * thread writes and reads may be a plain integer. */
#ifndef COMMON_BASE_METRICS_H
#define COMMON_BASE_METRICS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"

/* ---- Counting ---- */

/* 64 bytes, and the line that the processor fetches beside it. Counters of one thread are aligned
 * to it where memory of another thread may lie next to them. */
enum { COUNTERS_ALIGN = 128 };

struct counter {
    _Atomic uint64_t value;
};

static inline uint64_t counter_get(const struct counter *counter)
{
    return atomic_load_explicit(&counter->value, memory_order_relaxed);
}

/* The writer's thread; being the only one, it may read and write in two steps. */
static inline void counter_set(struct counter *counter, uint64_t value)
{
    atomic_store_explicit(&counter->value, value, memory_order_relaxed);
}

static inline void counter_add(struct counter *counter, uint64_t n)
{
    counter_set(counter, counter_get(counter) + n);
}

/* The same, for a counter of what there is now. */
static inline void counter_sub(struct counter *counter, uint64_t n)
{
    counter_set(counter, counter_get(counter) - n);
}

/* Adds one struct that consists of counters alone to another, counter by counter. */
void counters_add(void *sums, const void *counts, size_t size);

/* ---- Histograms ---- */

enum { HISTOGRAM_BOUNDS_MAX = 21 };

/* Which buckets there are, in the unit that is counted, and how the page shows them. */
struct histogram_scale {
    size_t bound_count;
    int64_t bounds[HISTOGRAM_BOUNDS_MAX]; /* ascending */
    double page_unit; /* the page's unit in counted ones: 1e6 for us that the page has as seconds */
    int sum_decimals; /* of the sum on the page; -1: as many as it takes */
};

/* Durations in us, as seconds on the page: from 0.1 ms, less than etcd needs for a commit, to 10 s,
 * when every deadline has passed. */
extern const struct histogram_scale histogram_durations;

/* Counters alone, with the rules of those. All zero at first. */
struct histogram {
    struct counter buckets[HISTOGRAM_BOUNDS_MAX + 1]; /* up to each bound, then the rest */
    struct counter sum;
};

/* Always with the same scale; a negative value is counted as 0. */
void histogram_observe(struct histogram *histogram, const struct histogram_scale *scale,
                       int64_t value);

static inline void histogram_observe_us(struct histogram *histogram, int64_t us)
{
    histogram_observe(histogram, &histogram_durations, us);
}

/* ---- Telling ---- */

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

/* A page in the making. */
struct metrics_page {
    struct buf *out;
    const char *prefix; /* of every name, "skydns_" */
    const char *name;   /* of the metric whose samples follow */
};

extern const char metrics_content_type[];

/* out and prefix are borrowed while the page is used. */
struct metrics_page metrics_page_begin(struct buf *out, const char *prefix);

/* A metric of one sample. Names are without the prefix; a counter's ends in `_total`, one that
 * measures in its unit. The help says, for a counter, what makes it grow. */
void metrics_counter(struct metrics_page *page, const char *name, const char *help, uint64_t value);
void metrics_gauge(struct metrics_page *page, const char *name, const char *help, double value);
void metrics_histogram(struct metrics_page *page, const char *name, const char *help,
                       const struct histogram_scale *scale, const struct histogram *histogram);

/* A metric of several: its head, then a sample for each combination of labels. */
struct metric_label {
    const char *name;
    const char *value;
};
#define METRIC_LABELS(...) ((const struct metric_label[]){__VA_ARGS__, {NULL, NULL}})

void metrics_family(struct metrics_page *page, enum metric_kind kind, const char *name,
                    const char *help);
void metrics_sample(struct metrics_page *page, const struct metric_label *labels, uint64_t value);
void metrics_histogram_sample(struct metrics_page *page, const struct metric_label *labels,
                              const struct histogram_scale *scale,
                              const struct histogram *histogram);

/* What every program tells first: its version, and since when it runs (Unix seconds). */
void metrics_process(struct metrics_page *page, int64_t start_s);

#endif
