#include "skydns/pages/metrics_table.h"

#include "common/base/clock.h"
#include "common/base/process_metrics.h"
#include "common/etcd/etcd_metrics.h"
#include "common/http/http_server.h"
#include "common/http/http_waiters.h"
#include "skydns/clients/topology.h"
#include "skydns/dnstap/dnstap.h"
#include "skydns/engine/engine.h"
#include "skydns/pages/client_figures.h"
#include "skydns/pages/metrics_parts_internal.h"
#include "skydns/publish/publisher.h"
#include "skydns/resolver/resolver.h"
#include "skydns/streams/streams.h"
#include "skydns/sync/recent_changes.h"
#include "skydns/sync/revision_marks.h"
#include "skydns/sync/store_keys.h"
#include "skydns/sync/store_sync.h"
#include "skydns/tap/query_counts.h"
#include "skydns/tap/query_tap.h"
#include "skydns/udp/worker.h"
#include "skydns/upstream/forwarder_counts.h"
#include "skydns/upstream/tls_pool.h"

/* ---- Queries ---- */

static void write_signed(struct metrics_page *page, const struct engine_counts *sums)
{
    static const char *const results[TSIG_VERDICTS] = {
        [TSIG_GOOD] = "good",        [TSIG_BAD_KEY] = "badkey",     [TSIG_BAD_SIG] = "badsig",
        [TSIG_BAD_TIME] = "badtime", [TSIG_BAD_TRUNC] = "badtrunc", [TSIG_MALFORMED] = "malformed"};
    metrics_family(
        page, METRIC_COUNTER, "tsig_queries_total",
        "Queries signed with TSIG, with -tsig-keys, by what was found of the signature.");
    for (size_t i = 0; i < TSIG_VERDICTS; i++) {
        if (results[i]) {
            metrics_sample(page, METRIC_LABELS({"result", results[i]}),
                           counter_get(&sums->tsig[i]));
        }
    }
}

/* Writes the counts of the threads' engines. */
static void write_engines(struct metrics_page *page, const struct metrics_sources *all,
                          const struct resolver_counts *resolver)
{
    struct engine_counts sums = {0};
    for (size_t i = 0; i < resolver->engine_count; i++) {
        counters_add(&sums, resolver->engines[i], sizeof(sums));
    }
    for (size_t i = 0; i < all->worker_count; i++) {
        counters_add(&sums, worker_engine_counts(all->workers[i]), sizeof(sums));
    }
    if (all->streams.counts) {
        counters_add(&sums, all->streams.counts->engine, sizeof(sums));
    }
    metrics_counter(page, "autopath_answers_total",
                    "Queries answered with another candidate name of the client's search list.",
                    counter_get(&sums.path_answers));
    metrics_counter(page, "autopath_saved_total",
                    "Candidate names before those, which their clients need not query.",
                    counter_get(&sums.path_saved));
    write_signed(page, &sums);
}

static void write_resolver(struct metrics_page *page, const struct resolver_counts *counts)
{
    const struct forwarder_counts *forwarder = counts->forwarder;
    metrics_counter(page, "forwarded_total", "Queries forwarded to upstreams.",
                    counter_get(&counts->forwarded));
    metrics_counter(page, "lookups_total",
                    "Queries sent to upstreams for targets outside the domain.",
                    counter_get(&counts->lookups));
    metrics_counter(page, "forward_failures_total",
                    "Of these two, those that no upstream answered, or that could not be sent.",
                    counter_get(&counts->failures));
    metrics_counter(page, "recursion_refused_total",
                    "Queries for external names from clients outside -allow-recursion.",
                    counter_get(&counts->not_allowed));
    metrics_counter(page, "forwards_shared_total",
                    "Queries that shared the upstream query of an identical one.",
                    counter_get(&forwarder->shared));
    metrics_counter(page, "forwards_unshared_total",
                    "Of these, those left without its response, as those shared took too much "
                    "memory.",
                    counter_get(&forwarder->unshared));
    metrics_counter(page, "forward_tcp_retries_total",
                    "Truncated or malformed responses retried over TCP.",
                    counter_get(&forwarder->tcp_retries));
    metrics_counter(page, "forward_tcp_refused_total",
                    "Truncated or malformed responses not retried, and queries not sent to "
                    "upstreams of tcp://: the client or the zone had its share of TCP.",
                    counter_get(&forwarder->tcp_refused));
    metrics_counter(page, "forward_fallbacks_total",
                    "Denials of stub zones that were asked again of the general upstreams.",
                    counter_get(&forwarder->fallbacks));
    metrics_counter(page, "forward_probes_total", "Probes sent to dead upstreams.",
                    counter_get(&forwarder->probes));
    metrics_counter(
        page, "upstream_tls_refused_total",
        "Queries not sent over TLS: the client had its share of the upstream's connections.",
        counter_get(&counts->tls->refused));
    metrics_family(page, METRIC_COUNTER, "upstream_tls_handshakes_total",
                   "TLS connections to upstreams: made with a full or a resumed handshake, or "
                   "failed, because it could not be made or nothing was answered on it.");
    metrics_sample(page, METRIC_LABELS({"result", "full"}), counter_get(&counts->tls->full));
    metrics_sample(page, METRIC_LABELS({"result", "resumed"}), counter_get(&counts->tls->resumed));
    metrics_sample(page, METRIC_LABELS({"result", "failed"}), counter_get(&counts->tls->failed));
    metrics_gauge(page, "upstream_tls_connections", "TLS connections to upstreams, open or begun.",
                  (double)counter_get(&counts->tls->connections));
    metrics_gauge(page, "nameservers", "Upstreams in use for forwarding.",
                  (double)counter_get(&forwarder->servers));
    metrics_gauge(page, "nameservers_dead",
                  "Of these, those that do not respond or lead back here.",
                  (double)counter_get(&forwarder->dead));
    metrics_gauge(page, "nameservers_looping", "Of these, those that lead back here.",
                  (double)counter_get(&forwarder->looping));
    metrics_gauge(page, "forwards_waiting", "Queries that upstreams have not answered yet.",
                  (double)counter_get(&forwarder->questions));
    metrics_gauge(page, "deferred_in_hand", "Deferred queries not answered yet.",
                  (double)counter_get(&counts->in_hand));
    metrics_counter(page, "cache_flushed_total", "Cached responses that /flush dropped.",
                    counter_get(&counts->flushed));
    metrics_gauge(page, "tcp_connections", "Open TCP connections.",
                  (double)counter_get(&counts->connections));
    metrics_counter(page, "tcp_evictions_total", "TCP connections closed to make room for others.",
                    counter_get(&counts->evictions));
}

/* ---- Clients ---- */

static void write_client_addresses(struct metrics_page *page, const struct store_sync *sync)
{
    const struct client_index_counts counts = client_index_counts(store_sync_clients(sync));
    metrics_family(
        page, METRIC_GAUGE, "client_addresses",
        "Addresses of clients, with -autopath, -visibility=own, -topology or -rate-namespace: "
        "known (one pod's), "
        "shared (several pods', or a node's).");
    metrics_sample(page, METRIC_LABELS({"state", "known"}), counts.addresses - counts.shared);
    metrics_sample(page, METRIC_LABELS({"state", "shared"}), counts.shared);
    metrics_gauge(page, "topology_services",
                  "Headless Services whose addresses' zones are known, with -topology.",
                  (double)topology_count(client_index_topology(store_sync_clients(sync))));
    metrics_gauge(page, "client_namespaces", "Namespaces with such addresses.",
                  (double)counts.spaces);
}

/* ---- Settings ---- */

static void write_refusals(struct metrics_page *page, const struct metrics_sources *all)
{
    const struct config_refusals now =
        all->refusals ? all->refusals(all->settings) : (struct config_refusals){0};
    const struct {
        const char *source;
        bool is_refused;
    } sources[] = {{"etcd", now.etcd},       {"kube2sky", now.kube2sky},
                   {"file", now.file},       {"hosts", now.hosts},
                   {"cookies", now.cookies}, {"certificate", now.certificate},
                   {"dnssec", now.dnssec},   {"tsig", now.tsig}};
    metrics_family(page, METRIC_GAUGE, "config_refused",
                   "1 while the newest settings of this source cannot be used: older ones stay in "
                   "force.");
    for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
        metrics_sample(page, METRIC_LABELS({"source", sources[i].source}), sources[i].is_refused);
    }
}

/* ---- Records ---- */

static void write_snapshot(struct metrics_page *page, const struct metrics_sources *all)
{
    const struct metrics_snapshot now =
        all->snapshot ? all->snapshot(all->keeper) : (struct metrics_snapshot){0};
    int64_t age_s = now.heard_ms ? clock_wall_s() - now.heard_ms / 1000 : 0;
    metrics_gauge(page, "snapshot_age_seconds",
                  "Time since etcd was last heard from as of the file of -snapshot; 0 without one.",
                  (double)(age_s > 0 ? age_s : 0));
    metrics_gauge(page, "snapshot_bytes", "Its size; 0 without one.", (double)now.bytes);
    metrics_counter(page, "snapshot_writes_total", "Snapshots written.", now.writes);
    metrics_counter(page, "snapshot_failures_total", "Snapshots that could not be written.",
                    now.failures);
}

static void write_dnstap(struct metrics_page *page, const struct dnstap *dnstap)
{
    const struct dnstap_counts counts = dnstap_counts(dnstap);
    metrics_gauge(page, "dnstap_connected", "1 while the sink of -dnstap takes messages.",
                  counts.is_connected);
    metrics_counter(page, "dnstap_messages_total", "Messages sent to the sink of -dnstap.",
                    counts.written);
    metrics_counter(page, "dnstap_dropped_total",
                    "Messages lost because the sink is away, or takes them too slowly.",
                    counts.dropped);
}

static void write_watch(struct metrics_page *page, const struct metrics_sources *sources)
{
    const struct watch_counts counts = sources->watched(sources->watch);
    metrics_gauge(page, "watch_streams", "Streams of /watch; at most 1,024.",
                  (double)counts.streams);
    metrics_counter(page, "watch_events_total", "Answers sent on them.", counts.events);
    metrics_counter(page, "watch_cut_off_total", "Streams that ended because they were not read.",
                    counts.cut_off);
    metrics_counter(page, "watch_refused_total", "Streams refused, since there was no room.",
                    counts.refusals);
}

static void write_http(struct metrics_page *page)
{
    const struct http_refusals refusals = http_server_refusals();
    metrics_counter(page, "http_hosts_refused_total",
                    "HTTP requests refused, since their Host is none of ours (-http-hosts).",
                    refusals.hosts);
    metrics_counter(page, "http_clients_refused_total",
                    "HTTP requests refused, since their page is not for this client (-http-allow).",
                    refusals.clients);
}

static void write_past(struct metrics_page *page, const struct metrics_sources *sources)
{
    static const char *const pages[PAST_PAGES] = {"explain", "history"};
    static const char *const results[PAST_RESULTS] = {
        [PAST_ANSWERED] = "answered", [PAST_GONE] = "gone",           [PAST_BUSY] = "busy",
        [PAST_BAD] = "bad",           [PAST_TOO_LARGE] = "too_large", [PAST_FAILED] = "failed"};
    const struct revision_marks *marks = store_sync_marks(sources->sync);
    const struct revision_mark *oldest = marks ? revision_marks_at_revision(marks, 1) : NULL;
    const int64_t age_ms = oldest ? clock_wall_ms() - oldest->time_ms : 0;
    metrics_family(page, METRIC_COUNTER, "past_questions_total",
                   "Questions about the past, by the page and how they ended.");
    for (size_t i = 0; i < PAST_PAGES; i++) {
        for (size_t j = 0; j < PAST_RESULTS; j++) {
            metrics_sample(page, METRIC_LABELS({"page", pages[i]}, {"result", results[j]}),
                           sources->past->results[i][j]);
        }
    }
    metrics_gauge(page, "past_marks",
                  "Marks by which times of the past are found; at most one a second for a day.",
                  marks ? (double)revision_marks_count(marks) : 0);
    metrics_gauge(page, "past_oldest_mark_seconds",
                  "Time since the oldest one: no earlier time is known; 0 without any.",
                  age_ms > 0 ? (double)age_ms / 1000 : 0);
}

static void write_incomplete(struct metrics_page *page, const struct store_sync *sync)
{
    const struct store_keys *keys = store_sync_keys(sync);
    metrics_family(
        page, METRIC_GAUGE, "domain_incomplete",
        "1 while names of the domain that etcd lacks are SERVFAIL, because its store key "
        "is missing.");
    for (size_t i = 0; i < store_keys_count(keys); i++) {
        char text[DNAME_TEXT_MAX];
        const struct dname *domain = store_keys_domain(keys, i);
        metrics_sample(page, METRIC_LABELS({"domain", dname_to_text(domain, text)}),
                       store_sync_is_incomplete(sync, domain));
    }
}

static void write_store(struct metrics_page *page, const struct store_sync_counts *counts)
{
    metrics_gauge(page, "store_records", "Records held.", (double)counts->keys);
    metrics_gauge(page, "store_holds_old",
                  "1 while answers come from records that etcd has lost, because it is not known "
                  "to be complete again.",
                  counts->mirror.is_holding_old);
    metrics_gauge(page, "store_revision",
                  "etcd's revision of the version that answers come from; changes that affect no "
                  "record make no version.",
                  (double)counts->published_revision);
    metrics_counter(page, "store_versions_total", "Versions published.", counts->published);
    metrics_gauge(
        page, "keys_broken",
        "Unusable keys and values now, as /cache lists them; at most 10,000 are remembered.",
        (double)counts->broken);
    metrics_gauge(page, "overrides", "Records of -overrides.", (double)counts->overrides);
    metrics_counter(page, "keys_skipped_total", "Unusable keys and values received.",
                    counts->skipped);
    metrics_gauge(page, "leases", "etcd leases of the records held.",
                  (double)counts->leases.leases);
    metrics_counter(page, "lease_questions_total", "Requests to etcd for a lease's remaining time.",
                    counts->leases.questions);
    metrics_counter(page, "lease_failures_total", "Of these, the failed ones.",
                    counts->leases.failures);
}

static void write_handover(struct metrics_page *page, const struct metrics_sources *sources)
{
    metrics_gauge(page, "serving",
                  "1 while this process reads its addresses' sockets; 0 before it takes them over "
                  "from another one, and after it has handed them over.",
                  sources->serving == SERVING_HERE);
    metrics_counter(page, "handovers_refused_total",
                    "Attempts to take the sockets over by another user or without the secret.",
                    sources->handovers_refused ? sources->handovers_refused(sources->offer) : 0);
}

void skydns_metrics_table_write(const struct metrics_sources *sources, struct buf *out)
{
    struct metrics_page page = metrics_page_begin(out, "skydns_");
    struct query_traffic traffic;
    const struct resolver_counts *resolver = resolver_counts(sources->resolver);
    const struct store_sync_counts store = store_sync_counts(sources->sync);
    const struct etcd_metrics etcd = {
        .etcd = sources->etcd,
        .outage = sources->outage,
        .followed = sources->followed,
        .mirror = store.mirror,
    };
    metrics_sum_traffic(sources, &traffic);
    metrics_process(&page, sources->start_s);
    process_metrics_write(page.out, sources->start_s);
    metrics_gauge(&page, "ready",
                  "1 while /readiness is 200: etcd has been read, or a snapshot is in use.",
                  store_sync_is_ready(sources->sync) && !sources->awaits_serials &&
                      !sources->is_lame_duck && sources->serving == SERVING_HERE);
    write_handover(&page, sources);
    write_client_addresses(&page, sources->sync);
    write_refusals(&page, sources);
    etcd_metrics_write(&page, &etcd);
    write_store(&page, &store);
    write_snapshot(&page, sources);
    if (sources->tap && sources->tap->missing) {
        metrics_counter(&page, "missing_dropped_total",
                        "Samples of names that do not exist, for /missing, that had no room.",
                        name_samples_dropped(sources->tap->missing));
    }
    write_http(&page);
    if (sources->waiters) {
        http_waiters_write_metrics(sources->waiters, &page);
        write_watch(&page, sources);
    }
    if (sources->past) {
        write_past(&page, sources);
    }
    write_dnstap(&page, sources->dnstap);
    write_incomplete(&page, sources->sync);
    metrics_histogram(&page, "change_seconds",
                      "From etcd's event to the moment that all answering threads see the version "
                      "with it.",
                      &histogram_durations, &store_sync_recent(sources->sync)->seconds);
    metrics_queries_write(&page, &traffic);
    if (sources->clients) {
        client_figures_write_metrics(sources->clients, &page);
    }
    write_engines(&page, sources, resolver);
    metrics_limits_write(&page, &traffic);
    write_resolver(&page, resolver);
    metrics_streams_write(&page, sources);
    metrics_transfers_write(&page, sources);
    uint64_t misses = metrics_external_write(&page, publisher_newest_config(sources->publisher),
                                             sources->resolver);
    uint64_t unsigned_yet = metrics_dnssec_write(&page, sources);
    if (sources->skydns_prefix) {
        skydns_metrics_write(&traffic.all.skydns, misses, unsigned_yet, sources->skydns_prefix,
                             out);
    }
}
