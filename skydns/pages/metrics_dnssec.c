#include "skydns/pages/metrics_dnssec_internal.h"

#include <stdio.h>

#include "skydns/dnssec/dnssec.h"
#include "skydns/publish/engine_config.h"
#include "skydns/publish/publisher.h"
#include "skydns/resolver/resolver.h"

static void write_signatures(struct metrics_page *page, const struct dnssec_figures *figures)
{
    metrics_family(page, METRIC_COUNTER, "dnssec_signatures_total",
                   "Signatures in replies: made for them, or kept ones given again; and those that "
                   "could not be made (failed).");
    metrics_sample(page, METRIC_LABELS({"result", "made"}), figures->made);
    metrics_sample(page, METRIC_LABELS({"result", "reused"}), figures->reused);
    metrics_sample(page, METRIC_LABELS({"result", "failed"}), figures->failed);
    metrics_gauge(page, "dnssec_signatures", "Signatures kept.", (double)figures->kept);
    metrics_gauge(page, "dnssec_signatures_max", "How many of them there may be: -scache.",
                  (double)figures->kept_max);
    metrics_seconds(page, "dnssec_signing_seconds_total", "CPU time in which signatures were made.",
                    figures->made_us);
    metrics_gauge(page, "dnssec_first_end_seconds",
                  "The earliest end of the signatures in use, in Unix time; 0: none is.",
                  (double)figures->first_end_s);
}

static void write_waits(struct metrics_page *page, const struct resolver_counts *counts)
{
    metrics_counter(page, "dnssec_deferred_total",
                    "Queries that had to wait until signatures were made.",
                    counter_get(&counts->signing));
    metrics_counter(page, "dnssec_refused_total",
                    "Of these, those that got none in time, as too many were waiting: dropped over "
                    "UDP, else SERVFAIL.",
                    counter_get(&counts->signing_refused));
}

static void write_keys(struct metrics_page *page, const struct dnssec *dnssec)
{
    metrics_family(page, METRIC_GAUGE, "dnssec_keys",
                   "1 for each key in use, by its owner, key tag and algorithm.");
    for (size_t i = 0; i < dnssec_zone_count(dnssec); i++) {
        const struct dnssec_zone *zone = dnssec_zone_at(dnssec, i);
        char name[DNAME_TEXT_MAX], tag[8], algorithm[8];
        for (size_t j = 0; j < zone->key_count; j++) {
            const struct signing_key *key = zone->keys[j];
            (void)snprintf(tag, sizeof(tag), "%u", (unsigned)key->tag); /* five digits at most */
            (void)snprintf(algorithm, sizeof(algorithm), "%u", (unsigned)key->algorithm);
            metrics_sample(page,
                           METRIC_LABELS({"zone", dname_to_text(&zone->name, name)}, {"tag", tag},
                                         {"algorithm", algorithm}),
                           1);
        }
    }
}

uint64_t metrics_dnssec_write(struct metrics_page *page, const struct metrics_sources *sources)
{
    const struct dnssec *dnssec = publisher_newest_config(sources->publisher)->dnssec;
    const struct dnssec_figures figures = dnssec_figures(dnssec);
    size_t unusable =
        sources->dnssec_unusable ? sources->dnssec_unusable(sources->dnssec_files) : 0;
    if (dnssec) {
        write_signatures(page, &figures);
        write_waits(page, resolver_counts(sources->resolver));
        write_keys(page, dnssec);
    }
    if (dnssec || unusable > 0) { /* also before the first keys that can be used */
        metrics_gauge(page, "dnssec_key_files_unusable",
                      "Keys of -dnssec whose files changed and cannot be used: older ones of "
                      "theirs are, or none.",
                      (double)unusable);
    }
    return figures.made + figures.failed;
}
