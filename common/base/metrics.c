#include "common/base/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "common/base/log.h"
#include "common/base/version.h"

const char metrics_content_type[] = "text/plain; version=0.0.4; charset=utf-8";

/* Rises in steps of 1, 2.5, 5. */
const struct histogram_scale histogram_durations = {
    .bound_count = 16,
    .bounds = {100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000,
               1000000, 2500000, 5000000, 10000000},
    .page_unit = 1e6,
    .sum_decimals = -1,
};

void counters_add(void *sums, const void *counts, size_t size)
{
    struct counter *to = sums;
    const struct counter *from = counts;
    for (size_t i = 0; i < size / sizeof(*to); i++) {
        counter_add(&to[i], counter_get(&from[i]));
    }
}

void histogram_observe(struct histogram *histogram, const struct histogram_scale *scale,
                       int64_t value)
{
    size_t i = 0;
    value = value < 0 ? 0 : value;
    while (i < scale->bound_count && value > scale->bounds[i]) {
        i++;
    }
    counter_add(&histogram->buckets[i], 1);
    counter_add(&histogram->sum, (uint64_t)value);
}

struct metrics_page metrics_page_begin(struct buf *out, const char *prefix)
{
    return (struct metrics_page){.out = out, .prefix = prefix, .name = ""};
}

/* Puts the format's escapes; only label values escape quotes. */
static void put_escaped(struct buf *out, const char *text, bool is_quoted)
{
    for (; *text; text++) {
        if (*text == '\n') {
            buf_append_str(out, "\\n");
            continue;
        }
        if (*text == '\\' || (is_quoted && *text == '"')) {
            buf_append_char(out, '\\');
        }
        buf_append_char(out, *text);
    }
}

/* Puts the sample's name and labels, up to its value; le NULL: no bucket. */
static void metrics_put_name(struct metrics_page *page, const char *suffix,
                             const struct metric_label *labels, const char *le)
{
    const char *before = "{";
    buf_printf(page->out, "%s%s%s", page->prefix, page->name, suffix);
    for (; labels && labels->name; labels++) {
        buf_printf(page->out, "%s%s=\"", before, labels->name);
        put_escaped(page->out, labels->value, true);
        buf_append_char(page->out, '"');
        before = ",";
    }
    if (le) {
        buf_printf(page->out, "%sle=\"%s\"", before, le);
        before = ",";
    }
    buf_append_str(page->out, *before == ',' ? "} " : " ");
}

static void put_count(struct metrics_page *page, const char *suffix,
                      const struct metric_label *labels, const char *le, uint64_t value)
{
    metrics_put_name(page, suffix, labels, le);
    buf_printf(page->out, "%" PRIu64 "\n", value);
}

void metrics_family(struct metrics_page *page, enum metric_kind kind, const char *name,
                    const char *help)
{
    static const char *const types[] = {
        [METRIC_COUNTER] = "counter",
        [METRIC_GAUGE] = "gauge",
        [METRIC_HISTOGRAM] = "histogram",
    };
    page->name = name;
    buf_printf(page->out, "# HELP %s%s ", page->prefix, name);
    put_escaped(page->out, help, false);
    buf_printf(page->out, "\n# TYPE %s%s %s\n", page->prefix, name, types[kind]);
}

void metrics_sample(struct metrics_page *page, const struct metric_label *labels, uint64_t value)
{
    put_count(page, "", labels, NULL, value);
}

void metrics_counter(struct metrics_page *page, const char *name, const char *help, uint64_t value)
{
    metrics_family(page, METRIC_COUNTER, name, help);
    put_count(page, "", NULL, NULL, value);
}

void metrics_gauge(struct metrics_page *page, const char *name, const char *help, double value)
{
    metrics_family(page, METRIC_GAUGE, name, help);
    metrics_put_name(page, "", NULL, NULL);
    /* Prints 15 digits, enough for every digit of a revision or of a time in milliseconds. */
    buf_printf(page->out, "%.15g\n", isfinite(value) ? value : 0.0);
}

void metrics_seconds(struct metrics_page *page, const char *name, const char *help, uint64_t us)
{
    metrics_family(page, METRIC_COUNTER, name, help);
    metrics_put_name(page, "", NULL, NULL);
    buf_printf(page->out, "%.15g\n", (double)us / 1e6);
}

static void put_sum(struct metrics_page *page, const struct metric_label *labels,
                    const struct histogram_scale *scale, uint64_t sum)
{
    double value = (double)sum / scale->page_unit;
    metrics_put_name(page, "_sum", labels, NULL);
    if (scale->sum_decimals < 0) {
        buf_printf(page->out, "%.15g\n", value);
    } else {
        buf_printf(page->out, "%.*f\n", scale->sum_decimals, value);
    }
}

void metrics_histogram_sample(struct metrics_page *page, const struct metric_label *labels,
                              const struct histogram_scale *scale,
                              const struct histogram *histogram)
{
    uint64_t count = 0;
    for (size_t i = 0; i < scale->bound_count; i++) {
        char le[32]; /* 15 digits, a sign, a point and an exponent */
        count += counter_get(&histogram->buckets[i]);
        (void)snprintf(le, sizeof(le), "%.15g", (double)scale->bounds[i] / scale->page_unit);
        put_count(page, "_bucket", labels, le, count);
    }
    count += counter_get(&histogram->buckets[scale->bound_count]);
    put_count(page, "_bucket", labels, "+Inf", count);
    put_sum(page, labels, scale, counter_get(&histogram->sum));
    put_count(page, "_count", labels, NULL, count);
}

void metrics_histogram(struct metrics_page *page, const char *name, const char *help,
                       const struct histogram_scale *scale, const struct histogram *histogram)
{
    metrics_family(page, METRIC_HISTOGRAM, name, help);
    metrics_histogram_sample(page, NULL, scale, histogram);
}

void metrics_process(struct metrics_page *page, int64_t start_s)
{
    metrics_family(page, METRIC_GAUGE, "build_info", "1, with the version as its label.");
    metrics_sample(page, METRIC_LABELS({"version", version_string}), 1);
    metrics_gauge(page, "start_time_seconds", "When the process started, in Unix time.",
                  (double)start_s);
    metrics_counter(page, "log_lines_lost_total",
                    "Log lines that were not read in time, or that could not be written.",
                    log_lost());
}
