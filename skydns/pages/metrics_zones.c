/* Writes the metrics of -dnssec (signatures, keys, queries that waited) and of zone transfers. Main
 * thread. */
#include "skydns/pages/metrics_parts_internal.h"

#include <stdio.h>

#include "common/base/clock.h"
#include "skydns/answer/answer.h"
#include "skydns/dnssec/dnssec.h"
#include "skydns/publish/engine_config.h"
#include "skydns/publish/publisher.h"
#include "skydns/resolver/resolver.h"
#include "skydns/transfer/transfers.h"

static void write_signatures(struct metrics_page *page, const struct dnssec_figures *figures)
{
    metrics_family(page, METRIC_COUNTER, "dnssec_signatures_total",
                   "Signatures in responses: made for them, or taken from the signature cache; and "
                   "those that could not be made (failed).");
    metrics_sample(page, METRIC_LABELS({"result", "made"}), figures->made);
    metrics_sample(page, METRIC_LABELS({"result", "reused"}), figures->reused);
    metrics_sample(page, METRIC_LABELS({"result", "failed"}), figures->failed);
    metrics_gauge(page, "dnssec_signatures", "Signatures in the signature cache.",
                  (double)figures->cached);
    metrics_gauge(page, "dnssec_signatures_max", "How many of them there may be: -scache.",
                  (double)figures->cached_max);
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

static void metrics_zones_write_keys(struct metrics_page *page, const struct dnssec *dnssec)
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
    const size_t unusable =
        sources->refusals ? sources->refusals(sources->settings).unusable_keys : 0;
    if (dnssec) {
        write_signatures(page, &figures);
        write_waits(page, resolver_counts(sources->resolver));
        metrics_zones_write_keys(page, dnssec);
    }
    if (dnssec || unusable > 0) { /* also before the first keys that can be used */
        metrics_gauge(page, "dnssec_key_files_unusable",
                      "Keys of -dnssec whose files changed and cannot be used: older ones of "
                      "theirs are, or none.",
                      (double)unusable);
    }
    return figures.made + figures.failed;
}

static void write_serial(struct metrics_page *page, const struct dname *apex, uint32_t serial)
{
    char zone[DNAME_TEXT_MAX];
    metrics_sample(page, METRIC_LABELS({"zone", dname_to_text(apex, zone)}), serial);
}

static void write_serials(struct metrics_page *page, const struct engine_config *config)
{
    metrics_family(page, METRIC_GAUGE, "zone_serial",
                   "The serial of each domain, and of each reverse zone that can be transferred.");
    for (size_t i = 0; i < config->zone_count; i++) {
        const struct engine_zone *zone = &config->zones[i];
        write_serial(page, &zone->domain, answer_soa_serial(zone->serial, clock_wall_s()));
    }
    for (size_t i = 0; i < config->settings.reverse_zone_count; i++) {
        const struct zone_serial *serial = config->reverse_serials[i];
        if (serial) {
            write_serial(page, &serial->apex, zone_serial_get(serial));
        }
    }
}

static void write_transfers(struct metrics_page *page, const struct transfers_counts *counts)
{
    metrics_family(page, METRIC_COUNTER, "transfers_total",
                   "Zone transfers by what the client got (all of the zone, what changed, or its "
                   "SOA alone), and by their outcome.");
    for (unsigned kind = 0; kind < TRANSFERS_KINDS; kind++) {
        for (unsigned result = 0; result < TRANSFERS_RESULTS; result++) {
            metrics_sample(page,
                           METRIC_LABELS({"kind", transfers_kind_text(kind)},
                                         {"result", transfers_result_text(result)}),
                           counter_get(&counts->transfers[kind][result]));
        }
    }
}

static void write_notify(struct metrics_page *page, const struct transfers_counts *counts)
{
    metrics_counter(page, "notify_sent_total",
                    "NOTIFY messages to secondaries, repeated ones included.",
                    counter_get(&counts->notify_sent));
    metrics_counter(page, "notify_answered_total",
                    "Changes of a zone that a secondary has confirmed.",
                    counter_get(&counts->notify_answered));
    metrics_counter(page, "notify_failed_total",
                    "Changes of a zone that a secondary did not confirm.",
                    counter_get(&counts->notify_failed));
}

void metrics_transfers_write(struct metrics_page *page, const struct metrics_sources *all)
{
    static const struct transfers_counts none;
    const struct transfers_counts *counts =
        all->transfers ? transfers_counts(all->transfers) : &none;
    write_transfers(page, counts);
    write_notify(page, counts);
    write_serials(page, publisher_newest_config(all->publisher));
    metrics_gauge(page, "transfers_running", "Zone transfers in progress.",
                  (double)counter_get(&counts->running));
    metrics_gauge(
        page, "transfer_journal_bytes",
        "Size of the changes held for incremental transfers: at most 64 MiB, or what running "
        "transfers hold of it.",
        (double)counter_get(&counts->journal_bytes));
}
