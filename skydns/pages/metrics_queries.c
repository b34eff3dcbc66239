/* Writes a part of the metrics: queries and responses by transport, how long they took, what limits
 * did to them, and connections. /live shows the sums, too. Main thread. */
#include "skydns/pages/metrics_parts_internal.h"

#include "common/base/attributes.h"
#include "common/dns/dns.h"
#include "common/dns/dns_names.h"
#include "skydns/listen/listen_socket.h"
#include "skydns/resolver/resolver.h"
#include "skydns/streams/streams.h"
#include "skydns/udp/worker.h"

/* ---- Sums ---- */

static void add_counts(struct query_traffic *traffic, enum engine_transport transport,
                       const struct query_counts *counts)
{
    query_sums_add(&traffic->transports[transport].sums, counts);
    query_sums_add(&traffic->all, counts);
}

void metrics_sum_traffic(const struct metrics_sources *sources, struct query_traffic *ret_traffic)
{
    const struct resolver_counts *resolver = resolver_counts(sources->resolver);
    const struct metrics_streams *streams = &sources->streams;
    *ret_traffic = (struct query_traffic){0};
    for (int i = 0; i < ENGINE_TRANSPORTS; i++) {
        bool is_stream = i >= ENGINE_TLS;
        struct transport_sums *transport = &ret_traffic->transports[i];
        transport->is_shown = !is_stream || (streams->counts && streams->is_heard[i]);
        transport->name = listen_transport_name((enum engine_transport)i);
        if (is_stream && streams->counts) {
            add_counts(ret_traffic, (enum engine_transport)i, &streams->counts->queries[i]);
        }
    }
    add_counts(ret_traffic, ENGINE_UDP, &resolver->udp);
    add_counts(ret_traffic, ENGINE_TCP, &resolver->tcp);
    for (size_t i = 0; i < sources->worker_count; i++) {
        worker_sums_add(sources->workers[i], &ret_traffic->transports[ENGINE_UDP].sums);
        worker_sums_add(sources->workers[i], &ret_traffic->all);
    }
}

/* ---- The page ---- */

static void write_verdicts(struct metrics_page *page, const struct transport_sums *transport)
{
    const struct query_sums *sums = &transport->sums;
    const struct {
        const char *name;
        uint64_t value;
    } verdicts[] = {
        {"answered", sums->answered},
        {"deferred", sums->deferred},
        {"dropped", sums->dropped},
        {"refused", sums->refused},
        {"limited", sums->limited + sums->limit_drops + sums->namespace_drops},
    };
    for (size_t i = 0; i < ARRAY_LEN(verdicts); i++) {
        metrics_sample(page,
                       METRIC_LABELS({"transport", transport->name}, {"verdict", verdicts[i].name}),
                       verdicts[i].value);
    }
}

static void metrics_queries_write_rcodes(struct metrics_page *page,
                                         const struct transport_sums *transport)
{
    for (size_t i = 0; i < QUERY_RCODES; i++) {
        if (i <= DNS_RCODE_BADVERS || i == DNS_RCODE_BADCOOKIE) {
            metrics_sample(
                page, METRIC_LABELS({"transport", transport->name}, {"rcode", dns_rcode_name(i)}),
                transport->sums.rcodes[i]);
        }
    }
}

static void write_each(struct metrics_page *page, const struct query_traffic *traffic,
                       void (*write)(struct metrics_page *, const struct transport_sums *))
{
    for (size_t i = 0; i < ENGINE_TRANSPORTS; i++) {
        if (traffic->transports[i].is_shown) {
            write(page, &traffic->transports[i]);
        }
    }
}

static void write_truncated(struct metrics_page *page, const struct transport_sums *transport)
{
    metrics_sample(page, METRIC_LABELS({"transport", transport->name}), transport->sums.truncated);
}

static void write_seconds(struct metrics_page *page, const struct transport_sums *transport)
{
    metrics_histogram_sample(page, METRIC_LABELS({"transport", transport->name}),
                             &query_reply_scale, &transport->sums.took);
}

/* Writes sums of all transports: the types that clients ask for do not depend on the transport. */
static void metrics_queries_write_types(struct metrics_page *page, const struct query_sums *all)
{
    metrics_family(page, METRIC_COUNTER, "query_types_total",
                   "Queries that got a response, by type.");
    for (size_t type = 0; type < QUERY_TYPES; type++) {
        metrics_sample(page, METRIC_LABELS({"type", query_type_name((enum query_type)type)}),
                       all->types[type]);
    }
}

void metrics_queries_write(struct metrics_page *page, const struct query_traffic *traffic)
{
    metrics_family(page, METRIC_COUNTER, "queries_total",
                   "Queries received, by first verdict: answered; deferred to the resolver thread; "
                   "dropped (not a query); refused (the resolver's queue was full); limited "
                   "(rate-limited by -rate or -rate-namespace).");
    write_each(page, traffic, write_verdicts);
    metrics_family(page, METRIC_COUNTER, "replies_total",
                   "Responses by RCODE, those to deferred queries included.");
    write_each(page, traffic, metrics_queries_write_rcodes);
    metrics_queries_write_types(page, &traffic->all);
    metrics_family(page, METRIC_COUNTER, "truncated_total", "Responses with TC set.");
    write_each(page, traffic, write_truncated);
    metrics_family(
        page, METRIC_HISTOGRAM, "reply_seconds",
        "Time from the arrival of a query to its response: of one UDP query in 64, from the "
        "kernel's time of arrival; of all others.");
    write_each(page, traffic, write_seconds);
    metrics_counter(page, "query_log_dropped_total",
                    "Lines of -query-log lost because stderr is read too slowly.",
                    traffic->all.log_dropped);
    metrics_counter(page, "udp_unsent_total", "Responses that the kernel did not accept.",
                    traffic->transports[ENGINE_UDP].sums.unsent);
}

void metrics_limits_write(struct metrics_page *page, const struct query_traffic *traffic)
{
    const struct query_sums *udp = &traffic->transports[ENGINE_UDP].sums;
    metrics_family(page, METRIC_COUNTER, "rate_limited_total",
                   "UDP queries rate-limited by -rate, by what the client got: an empty response "
                   "that sends it to TCP or renews its cookie (truncated), or none (dropped).");
    metrics_sample(page, METRIC_LABELS({"reply", "truncated"}), udp->limited);
    metrics_sample(page, METRIC_LABELS({"reply", "dropped"}), udp->limit_drops);
    metrics_counter(page, "rate_exempt_total",
                    "UDP queries that -rate did not count, because they had a valid cookie.",
                    udp->limit_exempt);
    metrics_family(page, METRIC_COUNTER, "namespace_rate_limited_total",
                   "Queries beyond -rate-namespace, by what became of them: no response (dropped, "
                   "over UDP), or read and answered later (delayed, on connections).");
    metrics_sample(page, METRIC_LABELS({"effect", "dropped"}), udp->namespace_drops);
    metrics_sample(page, METRIC_LABELS({"effect", "delayed"}), traffic->all.namespace_delays);
    metrics_counter(page, "not_allowed_total", "Queries from clients outside -allow.",
                    traffic->all.not_allowed);
}

static void metrics_queries_write_connections(struct metrics_page *page,
                                              const struct metrics_sources *sources)
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
    metrics_queries_write_connections(page, sources);
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
