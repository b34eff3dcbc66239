#include "skydns/pages/metrics_streams_internal.h"

#include "common/base/attributes.h"
#include "skydns/listen/listen_socket.h"
#include "skydns/resolver/resolver.h"
#include "skydns/streams/streams.h"

static void write_connections(struct metrics_page *page, const struct metrics_sources *sources)
{
    const struct metrics_streams *streams = &sources->streams;
    metrics_family(page, METRIC_GAUGE, "connections",
                   "Open connections of clients, those in a handshake included.");
    metrics_sample(page, METRIC_LABELS({"transport", "tcp"}),
                   counter_get(&resolver_counts(sources->resolver)->connections));
    for (int i = ENGINE_TLS; streams->counts && i < ENGINE_TRANSPORTS; i++) {
        if (streams->is_heard[i]) {
            metrics_sample(
                page, METRIC_LABELS({"transport", listen_transport_name((enum engine_transport)i)}),
                counter_get(&streams->counts->connections[i]));
        }
    }
}

static void write_handshakes(struct metrics_page *page, const struct streams_counts *counts)
{
    const struct {
        const char *result;
        const struct counter *count;
    } results[] = {
        {"full", &counts->handshakes_full},
        {"resumed", &counts->handshakes_resumed},
        {"failed", &counts->handshakes_failed},
    };
    metrics_family(page, METRIC_COUNTER, "tls_handshakes_total",
                   "TLS handshakes of clients: with a certificate (full), with a ticket of an "
                   "earlier one (resumed), or refused, broken off or too slow (failed).");
    for (size_t i = 0; i < ARRAY_LEN(results); i++) {
        metrics_sample(page, METRIC_LABELS({"result", results[i].result}),
                       counter_get(results[i].count));
    }
}

void metrics_streams_write(struct metrics_page *page, const struct metrics_sources *sources)
{
    const struct streams_counts *counts = sources->streams.counts;
    write_connections(page, sources);
    if (counts) {
        metrics_counter(
            page, "stream_evictions_total",
            "Connections over TLS, HTTPS, HTTP and gRPC closed to make room for others.",
            counter_get(&counts->evictions));
        write_handshakes(page, counts);
    }
    if (sources->certificate_ends) {
        metrics_gauge(page, "tls_certificate_expiry_seconds",
                      "When the certificate shown to clients ends, in Unix time.",
                      (double)sources->certificate_ends(sources->certificate));
    }
}
