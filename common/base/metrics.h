/* A program's metrics in Prometheus' text format (version 0.0.4). Each program's metrics_table.c
 * lists its metrics: on each request it writes the page line by line from the counters of the
 * modules. Nothing else writes this format.
 *
 * A module that counts has a struct of counters, which the table reads in place. A new counter
 * needs a field in that struct, the line that counts, and its lines in the table and the man page.
 *
 * A struct counter has one writer and any number of readers, without locks or locked instructions.
 * Counters of different threads need separate cache lines (COUNTERS_ALIGN). A count that only the
 * main thread writes and reads may be a plain integer. */
#ifndef COMMON_BASE_METRICS_H
#define COMMON_BASE_METRICS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"

/* ---- Counting ---- */

/* Equals a cache line of 64 bytes and the adjacent one, which the CPU prefetches. Align one
 * thread's counters to it if another thread's memory may lie next to them. */
enum { COUNTERS_ALIGN = 128 };

struct counter {
    _Atomic uint64_t value;
};

static inline uint64_t counter_get(const struct counter *counter)
{
    return atomic_load_explicit(&counter->value, memory_order_relaxed);
}

/* Sets a counter, only on the writer's thread; as the only writer, it may read and write in two
 * steps. */
static inline void counter_set(struct counter *counter, uint64_t value)
{
    atomic_store_explicit(&counter->value, value, memory_order_relaxed);
}

static inline void counter_add(struct counter *counter, uint64_t n)
{
    counter_set(counter, counter_get(counter) + n);
}

/* Subtracts, on the writer's thread, from a counter that holds a current number. */
static inline void counter_sub(struct counter *counter, uint64_t n)
{
    counter_set(counter, counter_get(counter) - n);
}

/* Adds a struct made up of counters only to another, counter by counter. */
void counters_add(void *sums, const void *counts, size_t size);

/* ---- Histograms ---- */

enum { HISTOGRAM_BOUNDS_MAX = 21 };

/* Describes the buckets, in the counted unit, and how the page shows them. */
struct histogram_scale {
    size_t bound_count;
    int64_t bounds[HISTOGRAM_BOUNDS_MAX]; /* ascending */
    double page_unit; /* the page's unit in counted units: 1e6 to count us and show seconds */
    int sum_decimals; /* of the sum on the page; -1: as many as needed */
};

/* Counts durations in us, as seconds on the page: from 0.1 ms, less than an etcd commit takes, to
 * 10 s, longer than any deadline. */
extern const struct histogram_scale histogram_durations;

/* Consists of counters, with their rules. Zero-initialized. */
struct histogram {
    struct counter buckets[HISTOGRAM_BOUNDS_MAX + 1]; /* up to each bound, then the rest */
    struct counter sum;
};

/* Adds a value, always with the same scale; a negative value counts as 0. */
void histogram_observe(struct histogram *histogram, const struct histogram_scale *scale,
                       int64_t value);

static inline void histogram_observe_us(struct histogram *histogram, int64_t us)
{
    histogram_observe(histogram, &histogram_durations, us);
}

/* ---- The page ---- */

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

/* A page being written. */
struct metrics_page {
    struct buf *out;
    const char *prefix; /* prefixed to every name, "skydns_" */
    const char *name;   /* of the metric whose samples follow */
};

extern const char metrics_content_type[];

/* Begins a page; out and prefix are borrowed while it is in use. */
struct metrics_page metrics_page_begin(struct buf *out, const char *prefix);

/* Write a metric with one sample. Names omit the prefix; a counter's name ends in `_total`, a
 * measurement's in its unit. A counter's help says what makes it grow. */
void metrics_counter(struct metrics_page *page, const char *name, const char *help, uint64_t value);
void metrics_gauge(struct metrics_page *page, const char *name, const char *help, double value);
/* Writes a counter of seconds, counted in microseconds. */
void metrics_seconds(struct metrics_page *page, const char *name, const char *help, uint64_t us);
void metrics_histogram(struct metrics_page *page, const char *name, const char *help,
                       const struct histogram_scale *scale, const struct histogram *histogram);

/* Describe a metric with several samples: its header, then a sample for each combination of
 * labels. */
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

/* Writes the first metrics of every program: its version, its start time (Unix seconds), and the
 * log lines it has lost. */
void metrics_process(struct metrics_page *page, int64_t start_s);

#endif
