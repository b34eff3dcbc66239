#include "exechealthz/metrics_table.h"

#include <stdio.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/metrics.h"
#include "common/base/process_metrics.h"

/* ---- Commands ---- */

enum command_count { RUNS, FAILURES, TIMEOUTS };

static uint64_t exechealthz_metrics_count_of(const struct probe_counts *counts,
                                             enum command_count which)
{
    switch (which) {
    case RUNS:
        return counts->runs;
    case FAILURES:
        return counts->failures;
    case TIMEOUTS:
        break;
    }
    return counts->timeouts;
}

static void write_counts(struct metrics_page *page, const struct metrics_sources *sources)
{
    static const struct {
        enum command_count which;
        const char *name, *help;
    } families[] = {
        {RUNS, "runs_total", "Completed runs of the command."},
        {FAILURES, "run_failures_total", "Runs that did not end with status 0."},
        {TIMEOUTS, "run_timeouts_total", "Runs killed at the timeout."},
    };
    for (size_t i = 0; i < ARRAY_LEN(families); i++) {
        metrics_family(page, METRIC_COUNTER, families[i].name, families[i].help);
        for (size_t k = 0; k < sources->probe_count; k++) {
            const struct probe *probe = sources->probes[k];
            metrics_sample(page, METRIC_LABELS({"path", probe_path(probe)}),
                           exechealthz_metrics_count_of(probe_counts(probe), families[i].which));
        }
    }
}

static void write_health(struct metrics_page *page, const struct metrics_sources *sources)
{
    int64_t now_ms = clock_monotonic_ms();
    metrics_family(page, METRIC_GAUGE, "healthy", "1 while the path is answered with 200.");
    for (size_t i = 0; i < sources->probe_count; i++) {
        metrics_sample(page, METRIC_LABELS({"path", probe_path(sources->probes[i])}),
                       probe_is_healthy(sources->probes[i], now_ms));
    }
}

static void write_durations(struct metrics_page *page, const struct metrics_sources *sources)
{
    struct histogram all = {.sum = {0}};
    for (size_t i = 0; i < sources->probe_count; i++) {
        counters_add(&all, &probe_counts(sources->probes[i])->duration, sizeof(all));
    }
    metrics_histogram(page, "run_seconds", "How long the runs of all commands took.",
                      &histogram_durations, &all);
}

/* ---- Commands of the health ---- */

static void write_actions(struct metrics_page *page, const struct health_actions *actions)
{
    static const struct {
        enum health health;
        const char *label;
    } rows[] = {{HEALTH_BAD, "on-unhealthy"}, {HEALTH_GOOD, "on-healthy"}};
    for (unsigned has_failed = 0; has_failed < 2; has_failed++) {
        metrics_family(page, METRIC_COUNTER,
                       has_failed ? "action_failures_total" : "action_runs_total",
                       has_failed ? "Runs of the flag's command that did not end with status 0."
                                  : "Completed runs of the flag's command.");
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            const struct health_action_counts *counts =
                health_actions_counts(actions, rows[i].health);
            metrics_sample(page, METRIC_LABELS({"flag", rows[i].label}),
                           has_failed ? counts->failures : counts->runs);
        }
    }
}

/* ---- DNS probes ---- */

static void write_dns_probe(struct metrics_page *page, const struct dns_probe *probe)
{
    const char *label = dns_probe_target(probe)->label;
    const struct dns_probe_counts *counts = dns_probe_counts(probe);
    char name[DNS_LABEL_TEXT_MAX + sizeof("_latency_ms")];
    (void)snprintf(name, sizeof(name), "%s_latency_ms", label); /* fits */
    metrics_histogram(page, name, "Time from the query to its answer, of runs that had one.",
                      &dns_latency_scale, &counts->latency);
    (void)snprintf(name, sizeof(name), "%s_errors", label); /* fits */
    metrics_counter(page, name, "Runs without an answer.", counts->failures);
}

/* ---- The cache of a DNS server ---- */

static void write_dnsmasq(struct metrics_page *page, const struct dnsmasq_counts *counts)
{
    const struct {
        const char *name, *help;
        uint64_t value;
    } rows[] = {
        {"hits", "Hits of the DNS server's cache.", counts->values[DNSMASQ_HITS]},
        {"misses", "Misses of the DNS server's cache.", counts->values[DNSMASQ_MISSES]},
        {"evictions", "Entries evicted from the cache.", counts->values[DNSMASQ_EVICTIONS]},
        {"insertions", "Entries inserted into the cache.", counts->values[DNSMASQ_INSERTIONS]},
        {"errors", "Times that these counts could not be read.", counts->errors},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        metrics_counter(page, rows[i].name, rows[i].help, rows[i].value);
    }
    metrics_gauge(page, "max_size", "Entries that fit the cache.",
                  (double)counts->values[DNSMASQ_MAX_SIZE]);
}

void exechealthz_metrics_table_write(const struct metrics_sources *sources, struct buf *out)
{
    struct metrics_page page = metrics_page_begin(out, "exechealthz_");
    metrics_process(&page, sources->start_s);
    process_metrics_write(page.out, sources->start_s);
    if (sources->probe_count > 0) {
        write_counts(&page, sources);
        write_health(&page, sources);
        write_durations(&page, sources);
    }
    if (health_actions_command(sources->actions, HEALTH_BAD) ||
        health_actions_command(sources->actions, HEALTH_GOOD)) {
        write_actions(&page, sources->actions);
    }
    page = metrics_page_begin(out, "kubedns_probe_");
    for (size_t i = 0; i < sources->dns_count; i++) {
        write_dns_probe(&page, sources->dns_probes[i]);
    }
    if (sources->dnsmasq) {
        page = metrics_page_begin(out, "kubedns_dnsmasq_");
        write_dnsmasq(&page, dnsmasq_poll_counts(sources->dnsmasq));
    }
}
