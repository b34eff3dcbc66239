/* metrics: counters, histograms, and their pages, byte for byte. */
#include "common/base/metrics.h"

#include "common/base/version.h"
#include "tests/support/unit_test.h"

struct fixture {
    struct buf out;
    struct metrics_page page;
};

static void metrics_begin(struct fixture *f)
{
    buf_init(&f->out, 65536);
    f->page = metrics_page_begin(&f->out, "test_");
}

static void metrics_end(struct fixture *f, const char *want)
{
    assert_string_equal(buf_cstr(&f->out), want);
    buf_fini(&f->out);
}

UNIT_TEST(test_counter)
{
    struct fixture f;
    struct counter counter = {0};
    counter_add(&counter, 3);
    counter_add(&counter, UINT64_MAX - 4);
    metrics_begin(&f);
    metrics_counter(&f.page, "things_total", "Things, each.", counter_get(&counter));
    metrics_end(&f, "# HELP test_things_total Things, each.\n"
                    "# TYPE test_things_total counter\n"
                    "test_things_total 18446744073709551614\n");
}

UNIT_TEST(test_gauge)
{
    static const struct {
        double value;
        const char *want;
    } rows[] = {
        {0.0, "test_x 0\n"},
        {1.0, "test_x 1\n"},
        {0.25, "test_x 0.25\n"},
        {-3.0, "test_x -3\n"},
        {1763665418.123, "test_x 1763665418.123\n"},
        {123456789012345.0, "test_x 123456789012345\n"},
        {__builtin_nan(""), "test_x 0\n"},
        {__builtin_inf(), "test_x 0\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        metrics_begin(&f);
        metrics_gauge(&f.page, "x", "H.", rows[i].value);
        const char *text = buf_cstr(&f.out);
        assert_string_equal(text + strlen("# HELP test_x H.\n# TYPE test_x gauge\n"), rows[i].want);
        buf_fini(&f.out);
    }
}

UNIT_TEST(test_labels_and_escapes)
{
    struct fixture f;
    metrics_begin(&f);
    metrics_family(&f.page, METRIC_COUNTER, "y_total", "A \"quote\", a \\ and\na line.");
    metrics_sample(&f.page, METRIC_LABELS({"kind", "services"}), 1);
    metrics_sample(&f.page, METRIC_LABELS({"kind", "a\"b\\c\nd"}, {"reason", ""}), 2);
    metrics_end(&f, "# HELP test_y_total A \"quote\", a \\\\ and\\na line.\n"
                    "# TYPE test_y_total counter\n"
                    "test_y_total{kind=\"services\"} 1\n"
                    "test_y_total{kind=\"a\\\"b\\\\c\\nd\",reason=\"\"} 2\n");
}

UNIT_TEST(test_histogram)
{
    static const int64_t observed_us[] = {-5, 0, 100, 101, 1000, 999999, 10000000, 10000001};
    struct fixture f;
    struct histogram histogram = {.sum = {0}};
    for (size_t i = 0; i < ARRAY_LEN(observed_us); i++) {
        histogram_observe_us(&histogram, observed_us[i]);
    }
    metrics_begin(&f);
    metrics_histogram(&f.page, "took_seconds", "How long.", &histogram_durations, &histogram);
    metrics_end(&f, "# HELP test_took_seconds How long.\n"
                    "# TYPE test_took_seconds histogram\n"
                    "test_took_seconds_bucket{le=\"0.0001\"} 3\n"
                    "test_took_seconds_bucket{le=\"0.00025\"} 4\n"
                    "test_took_seconds_bucket{le=\"0.0005\"} 4\n"
                    "test_took_seconds_bucket{le=\"0.001\"} 5\n"
                    "test_took_seconds_bucket{le=\"0.0025\"} 5\n"
                    "test_took_seconds_bucket{le=\"0.005\"} 5\n"
                    "test_took_seconds_bucket{le=\"0.01\"} 5\n"
                    "test_took_seconds_bucket{le=\"0.025\"} 5\n"
                    "test_took_seconds_bucket{le=\"0.05\"} 5\n"
                    "test_took_seconds_bucket{le=\"0.1\"} 5\n"
                    "test_took_seconds_bucket{le=\"0.25\"} 5\n"
                    "test_took_seconds_bucket{le=\"0.5\"} 5\n"
                    "test_took_seconds_bucket{le=\"1\"} 6\n"
                    "test_took_seconds_bucket{le=\"2.5\"} 6\n"
                    "test_took_seconds_bucket{le=\"5\"} 6\n"
                    "test_took_seconds_bucket{le=\"10\"} 7\n"
                    "test_took_seconds_bucket{le=\"+Inf\"} 8\n"
                    "test_took_seconds_sum 21.001201\n"
                    "test_took_seconds_count 8\n");
}

/* Its own scale, labels before `le`, and a sum with the given number of decimals. */
UNIT_TEST(test_histograms_with_labels)
{
    static const struct histogram_scale sizes = {
        .bound_count = 3, .bounds = {0, 512, 65536}, .page_unit = 1};
    static const struct histogram_scale durations = {
        .bound_count = 2, .bounds = {250, 4096000}, .page_unit = 1e3, .sum_decimals = 6};
    struct fixture f;
    struct histogram small = {.sum = {0}}, large = small;
    histogram_observe(&small, &sizes, 0);
    histogram_observe(&small, &sizes, 512);
    histogram_observe(&small, &sizes, INT64_C(3000000000000000));
    histogram_observe(&large, &durations, 251);
    metrics_begin(&f);
    metrics_family(&f.page, METRIC_HISTOGRAM, "h", "H.");
    metrics_histogram_sample(&f.page, METRIC_LABELS({"a", "1"}, {"b", "\""}), &sizes, &small);
    metrics_histogram_sample(&f.page, METRIC_LABELS({"a", "2"}), &durations, &large);
    metrics_end(&f, "# HELP test_h H.\n"
                    "# TYPE test_h histogram\n"
                    "test_h_bucket{a=\"1\",b=\"\\\"\",le=\"0\"} 1\n"
                    "test_h_bucket{a=\"1\",b=\"\\\"\",le=\"512\"} 2\n"
                    "test_h_bucket{a=\"1\",b=\"\\\"\",le=\"65536\"} 2\n"
                    "test_h_bucket{a=\"1\",b=\"\\\"\",le=\"+Inf\"} 3\n"
                    "test_h_sum{a=\"1\",b=\"\\\"\"} 3000000000000512\n"
                    "test_h_count{a=\"1\",b=\"\\\"\"} 3\n"
                    "test_h_bucket{a=\"2\",le=\"0.25\"} 0\n"
                    "test_h_bucket{a=\"2\",le=\"4096\"} 1\n"
                    "test_h_bucket{a=\"2\",le=\"+Inf\"} 1\n"
                    "test_h_sum{a=\"2\"} 0.251000\n"
                    "test_h_count{a=\"2\"} 1\n");
}

UNIT_TEST(test_structs_of_counters_add_up)
{
    struct {
        struct counter one, rows[2];
        struct histogram took;
    } sums = {.one = {0}}, counts = sums;
    counter_add(&counts.one, 5);
    counter_sub(&counts.one, 2);
    counter_set(&counts.rows[1], 7);
    histogram_observe_us(&counts.took, 100);
    counters_add(&sums, &counts, sizeof(sums));
    counters_add(&sums, &counts, sizeof(sums));
    assert_int_equal(counter_get(&sums.one), 6);
    assert_int_equal(counter_get(&sums.rows[0]), 0);
    assert_int_equal(counter_get(&sums.rows[1]), 14);
    assert_int_equal(counter_get(&sums.took.buckets[0]), 2);
    assert_int_equal(counter_get(&sums.took.sum), 200);
}

UNIT_TEST(test_process)
{
    struct fixture f;
    CLEANUP_BUF struct buf want = buf_of(1024);
    buf_printf(
        &want,
        "# HELP test_build_info 1, with the version as its label.\n"
        "# TYPE test_build_info gauge\n"
        "test_build_info{version=\"%s\"} 1\n"
        "# HELP test_start_time_seconds When the process started, in Unix time.\n"
        "# TYPE test_start_time_seconds gauge\n"
        "test_start_time_seconds 1763665418\n"
        "# HELP test_log_lines_lost_total Log lines that were not read in time, or that could "
        "not be written.\n"
        "# TYPE test_log_lines_lost_total counter\n"
        "test_log_lines_lost_total 0\n",
        version_string);
    metrics_begin(&f);
    metrics_process(&f.page, 1763665418);
    metrics_end(&f, buf_cstr(&want));
}
