#include "skydns/pages/metrics_transfers_internal.h"

#include "common/base/clock.h"
#include "skydns/answer/answer.h"
#include "skydns/publish/publisher.h"
#include "skydns/publish/zone_serials.h"
#include "skydns/transfer/transfers.h"

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
                   "SOA alone), and how they ended.");
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
                    "Changes of a zone that a secondary was told of in vain.",
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
    metrics_gauge(page, "transfers_running", "Zone transfers asked for and not ended.",
                  (double)counter_get(&counts->running));
    metrics_gauge(page, "transfer_journal_bytes",
                  "What changed in zones, kept to be transferred: at most 64 MiB, or what running "
                  "transfers hold of it.",
                  (double)counter_get(&counts->journal_bytes));
}
