#include "common/base/metrics.h"

#include <inttypes.h>
#include <math.h>

#include "common/base/version.h"

const char metrics_content_type[] = "text/plain; version=0.0.4; charset=utf-8";

/* In steps of 1, 2.5, 5; written as Prometheus reads them back, in seconds. */
static const struct {
    int64_t us;
    const char *seconds;
} bounds[HISTOGRAM_BOUNDS] = {
    {100, "0.0001"},  {250, "0.00025"}, {500, "0.0005"},  {1000, "0.001"},
    {2500, "0.0025"}, {5000, "0.005"},  {10000, "0.01"},  {25000, "0.025"},
    {50000, "0.05"},  {100000, "0.1"},  {250000, "0.25"}, {500000, "0.5"},
    {1000000, "1"},   {2500000, "2.5"}, {5000000, "5"},   {10000000, "10"},
};

void histogram_observe_us(struct histogram *histogram, int64_t us)
{
    size_t i = 0;
    us = us < 0 ? 0 : us;
    while (i < HISTOGRAM_BOUNDS && us > bounds[i].us) {
        i++;
    }
    histogram->buckets[i]++;
    histogram->sum_us += (uint64_t)us;
}

struct metrics_page metrics_page_begin(struct buf *out, const char *prefix)
{
    return (struct metrics_page){.out = out, .prefix = prefix, .name = ""};
}

/* The format's escapes; a quote only needs one inside a label's value. */
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

static void put_head(struct metrics_page *page, const char *type, const char *name,
                     const char *help)
{
    page->name = name;
    buf_printf(page->out, "# HELP %s%s ", page->prefix, name);
    put_escaped(page->out, help, false);
    buf_printf(page->out, "\n# TYPE %s%s %s\n", page->prefix, name, type);
}

void metrics_family(struct metrics_page *page, enum metric_kind kind, const char *name,
                    const char *help)
{
    put_head(page, kind == METRIC_COUNTER ? "counter" : "gauge", name, help);
}

void metrics_sample(struct metrics_page *page, const struct metric_label *labels, uint64_t value)
{
    const char *before = "{";
    buf_printf(page->out, "%s%s", page->prefix, page->name);
    for (; labels->name; labels++) {
        buf_printf(page->out, "%s%s=\"", before, labels->name);
        put_escaped(page->out, labels->value, true);
        buf_append_char(page->out, '"');
        before = ",";
    }
    buf_printf(page->out, "} %" PRIu64 "\n", value);
}

void metrics_counter(struct metrics_page *page, const char *name, const char *help, uint64_t value)
{
    metrics_family(page, METRIC_COUNTER, name, help);
    buf_printf(page->out, "%s%s %" PRIu64 "\n", page->prefix, name, value);
}

void metrics_gauge(struct metrics_page *page, const char *name, const char *help, double value)
{
    metrics_family(page, METRIC_GAUGE, name, help);
    /* 15 digits: a revision, or a time in milliseconds, to its last one. */
    buf_printf(page->out, "%s%s %.15g\n", page->prefix, name, isfinite(value) ? value : 0.0);
}

void metrics_histogram(struct metrics_page *page, const char *name, const char *help,
                       const struct histogram *histogram)
{
    uint64_t count = 0;
    put_head(page, "histogram", name, help);
    for (size_t i = 0; i < HISTOGRAM_BOUNDS; i++) {
        count += histogram->buckets[i];
        buf_printf(page->out, "%s%s_bucket{le=\"%s\"} %" PRIu64 "\n", page->prefix, name,
                   bounds[i].seconds, count);
    }
    count += histogram->buckets[HISTOGRAM_BOUNDS];
    buf_printf(page->out, "%s%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", page->prefix, name, count);
    buf_printf(page->out, "%s%s_sum %.15g\n", page->prefix, name,
               (double)histogram->sum_us / 1000000.0);
    buf_printf(page->out, "%s%s_count %" PRIu64 "\n", page->prefix, name, count);
}

void metrics_process(struct metrics_page *page, int64_t start_s)
{
    metrics_family(page, METRIC_GAUGE, "build_info", "1, with the version as its label.");
    metrics_sample(page, METRIC_LABELS({"version", version_string}), 1);
    metrics_gauge(page, "start_time_seconds", "When the process started, in Unix time.",
                  (double)start_s);
}
