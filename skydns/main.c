/* Runs skydns, which answers DNS queries from the records in etcd. Wiring and signals only.
 *
 * This thread runs etcd, the record store and HTTP on its loop; workers answer UDP; the resolver
 * thread answers TCP and waits for upstreams. Everything is opened before the first thread starts,
 * so that an unusable address ends the program with one line. */
#include <errno.h>
#include <ev.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/flags.h"
#include "common/base/log.h"
#include "common/base/outage.h"
#include "common/base/privileges.h"
#include "common/base/process_metrics.h"
#include "common/base/service_manager.h"
#include "common/dns/record_json.h"
#include "common/etcd/etcd.h"
#include "skydns/answering.h"
#include "skydns/commands.h"
#include "skydns/config/certificate.h"
#include "skydns/config/live_config.h"
#include "skydns/confine/confinement.h"
#include "skydns/etcd_client.h"
#include "skydns/external/cache_counts.h"
#include "skydns/handover/handover.h"
#include "skydns/http_pages.h"
#include "skydns/pages/client_figures.h"
#include "skydns/pages/explain.h"
#include "skydns/publish/engine_config.h"
#include "skydns/publish/publisher.h"
#include "skydns/settings/option_text.h"
#include "skydns/settings/options.h"
#include "skydns/settings/stub_zones.h"
#include "skydns/snapshot/snapshot.h"
#include "skydns/snapshot_keeper.h"
#include "skydns/snapshot_start.h"
#include "skydns/sync/store_sync.h"
#include "skydns/sync/writer_documents.h"
#include "skydns/transfer_source.h"

static const char resolv_conf[] = "/etc/resolv.conf";

enum {
    /* After a handover, a client that goes on asking keeps its TCP connection for LEAVING_MS. Then
     * it is closed in its first pause of LEAVING_PAUSE_MS: longer than a round trip in a cluster,
     * so that no query of a client that waits for answers is on its way. */
    LEAVING_MS = 10000,
    LEAVING_IDLE_MS = 2000,
    LEAVING_PAUSE_MS = 3,
    LEAVING_END_MS = 20000, /* for those that never pause */
    LEAVING_LOOK_MS = 250,  /* whether all connections are closed */
};

struct program {
    int64_t start_s; /* Unix time */
    struct options flags;
    struct live_config *live;
    struct options options; /* the settings that everything is opened with */
    struct ev_loop *loop;
    ev_signal on_term;
    ev_signal on_int;
    ev_signal on_hup;
    bool is_settled; /* the configuration is published */
    bool is_stopping;
    ev_timer lameduck_end;
    struct handover_place place;
    struct handover *handover; /* NULL: no -reuse-port */
    struct passed_sockets offered;
    ev_timer leaving;
    int64_t leaving_since_ms;
    struct service_manager manager;
    struct cache_tally *tally;
    struct publisher *publisher;
    struct certificate *certificate; /* NULL: no -cert */
    struct etcd *etcd;
    struct outage outage; /* etcd's */
    struct outage_source followed;
    struct store_sync *sync;
    struct writer_documents *documents;
    bool has_snapshot;     /* to start from; not one that was refused */
    bool refuses_snapshot; /* what it says cannot be opened */
    struct snapshot_content snapshot;
    struct snapshot_keeper *keeper; /* NULL: no -snapshot */
    struct http_pages *http;
    struct metrics_sources status;
    struct answering *answering;
    struct zone_serials *serials;
    struct transfer_source *feed; /* NULL: no zone can be transferred */
    bool awaits_serials;          /* of zones; not ready before, unless a snapshot made it so */
    ev_async fed;                 /* the transfers have something for it */
};

/* ---- Readiness ---- */

static void log_ready(const struct program *p)
{
    const struct options *now = live_config_options(p->live);
    for (size_t i = 0; i < now->domain_count; i++) {
        struct buf keys;
        buf_init(&keys, OPTIONS_DNSSEC_MAX);
        live_config_signing(p->live, &now->domains[i], &keys);
        answering_log_ready(p->answering, &now->domains[i], buf_cstr(&keys), now->scache);
        buf_fini(&keys);
    }
}

static void skydns_on_ready(void *data)
{
    struct program *p = data;
    p->followed.away_line = "etcd away, answering from memory";
    if (p->status.sync && p->status.serving == SERVING_HERE && !p->awaits_serials) {
        log_ready(p);
        service_manager_status(&p->manager, "ready for queries");
    }
}

static void on_serials_known(void *data)
{
    struct program *p = data;
    if (p->awaits_serials) {
        p->awaits_serials = p->status.awaits_serials = false;
        if (p->status.serving == SERVING_HERE) {
            log_ready(p);
            service_manager_status(&p->manager, "ready for queries");
        }
    }
}

/* Notes that nothing is answered from the snapshot any more. */
static void skydns_on_caught_up(void *data)
{
    const struct program *p = data;
    log_info("caught up with etcd", LOG_INT("revision", store_sync_counts(p->sync).revision));
    if (store_sync_is_ready(p->sync)) {
        service_manager_status(&p->manager, "ready for queries");
    }
}

/* ---- Opening ---- */

/* Wakes the loop from the transfers' thread. */
static void wake_feed(void *data)
{
    struct program *p = data;
    ev_async_send(p->loop, &p->fed);
}

static void on_fed(struct ev_loop *loop, ev_async *fed, int revents)
{
    (void)loop;
    (void)fed; /* before it sleeps again, the loop asks the feed */
    (void)revents;
}

static int open_all(struct program *p, struct err *err)
{
    const struct answering_wake wake = {.fn = wake_feed, .data = p};
    privileges_raise_bind();
    int r = answering_open(&p->options, p->publisher, certificate_server(p->certificate), &wake,
                           handover_passed(p->handover), &p->answering, err);
    if (r == 0) {
        r = http_pages_open(p->loop, &p->options, &p->status, p->etcd, handover_passed(p->handover),
                            &p->http, err);
    }
    return r;
}

static void skydns_on_document(void *data, struct slice value)
{
    struct program *p = data;
    live_config_take(p->live, value);
}

static void skydns_on_writers_document(void *data, const struct dname *domain, struct slice value,
                                       int64_t revision)
{
    struct program *p = data;
    (void)revision;
    live_config_take_writers(p->live, domain, value);
    if (p->keeper) {
        snapshot_keeper_note(p->keeper);
    }
}

/* Follows kube2sky's documents; those of a snapshot are told at once. */
static void follow_writers(struct program *p, struct slice saved, const struct options *now)
{
    p->documents = writer_documents_new(&(struct writer_documents_config){
        .loop = p->loop,
        .etcd = p->etcd,
        .name = "config",
        .stale_max_ms = p->flags.stale_max_ms,
        .saved = saved,
        .changed = skydns_on_writers_document,
        .data = p,
    });
    writer_documents_set_domains(p->documents, now->domains, now->domain_count);
}

static uint32_t override_ttl_s(const struct options *options)
{
    const uint32_t ttl_s = options->engine.ttl_s;
    return ttl_s == ENGINE_TTL_DEFAULT_S ? ENGINE_OVERRIDE_TTL_S : ttl_s;
}

static enum client_want program_wants_clients_for(const struct options *options)
{
    return options_answer_by_client(options)    ? CLIENTS_FOR_ANSWERS
           : options_want_client_index(options) ? CLIENTS_FOR_LOGS
           : options_count_namespaces(options)  ? CLIENTS_FOR_METRICS
                                                : CLIENTS_UNKNOWN;
}

static void on_config(void *data, const struct options *before, const struct options *now)
{
    struct program *p = data;
    bool same = before->domain_count == now->domain_count;
    for (size_t i = 0; same && i < now->domain_count; i++) {
        same = dname_equal(&before->domains[i], &now->domains[i]);
    }
    if (p->sync) { /* else the start is in progress and will see it */
        store_sync_set_default_ttl(p->sync, now->engine.ttl_s);
        store_sync_set_domains(p->sync, now->domains, now->domain_count, now->require_store_key);
    }
    if (p->sync && !same) {
        writer_documents_set_domains(p->documents, now->domains, now->domain_count);
    }
    if (p->sync && now->stubzones != before->stubzones) {
        store_sync_set_stubs(p->sync, now->stubzones);
    }
    if (p->sync) {
        store_sync_set_clients(p->sync, program_wants_clients_for(now), now->clients.wants_near);
        store_sync_set_overrides(p->sync, now->engine.overrides, override_ttl_s(now));
    }
    if (p->keeper) {
        snapshot_keeper_set(p->keeper, now->snapshot_interval_ms, now->snapshot_max_ms);
    }
    if (!same && p->sync && store_sync_is_ready(p->sync) && !p->awaits_serials) {
        log_ready(p);
    }
    if (p->http) {
        http_pages_set_access(p->http, now);
    }
    if (p->answering) {
        answering_set_query_log(p->answering, now->query_log);
        answering_set_domain(p->answering, &now->domains[0]);
    }
    if (!option_same_upstream(before, now)) {
        answering_set_nameservers(p->answering, now);
    }
}

static void on_stubs(void *data, const struct forward_zone *zones, size_t count)
{
    struct program *p = data;
    log_info("stub zones in etcd changed", LOG_INT("zones", (int64_t)count));
    live_config_take_stubs(p->live, zones, count);
}

static void skydns_on_visible(void *data, const struct visible_namespace *listed, size_t count)
{
    struct program *p = data;
    if (live_config_options(p->live)->clients.is_own) {
        log_info("namespaces that others may see changed", LOG_INT("namespaces", (int64_t)count));
    }
    live_config_take_visible(p->live, listed, count);
}

/* Returns whether clients are known. Before there are records, nobody asks for them. */
static bool skydns_knows_clients(void *data, const struct dname *domain)
{
    const struct program *p = data;
    return !p->sync || store_sync_knows_clients(p->sync, domain);
}

/* Returns whether a domain is incomplete. With -visibility=own, names that a client would see are
 * not denied before the client is known. */
static bool is_incomplete(void *data, const struct dname *domain)
{
    const struct program *p = data;
    bool hides = live_config_options(p->live)->clients.is_own;
    return p->sync && /* else there are no records */
           (store_sync_is_incomplete(p->sync, domain) ||
            (hides && !skydns_knows_clients(data, domain)));
}

static void on_completeness(void *data)
{
    struct program *p = data;
    live_config_republish(p->live);
}

/* Reads etcd's documents from a snapshot, or from etcd if it can be reached. */
static void read_documents(struct program *p)
{
    p->has_snapshot = *p->flags.snapshot && !p->refuses_snapshot &&
                      snapshot_start_read(p->live, p->flags.snapshot, &p->snapshot);
    if (!p->has_snapshot) {
        live_config_read(p->live, p->etcd);
        return;
    }
    live_config_seed(p->live, snapshot_start_document(&p->snapshot));
    follow_writers(p, buf_slice(&p->snapshot.sections[SNAPSHOT_WRITERS]),
                   live_config_options(p->live));
}

/* Settles the settings needed for opening first: from the flags, and from etcd or a snapshot. */
static int settle_config(struct program *p, struct err *err)
{
    const struct live_config_config config = {
        .loop = p->loop,
        .flags = &p->flags,
        .publisher = p->publisher,
        .resolv_conf = resolv_conf,
        .tally = p->tally,
        .serials = p->serials,
        .is_incomplete = is_incomplete,
        .knows_clients = skydns_knows_clients,
        .changed = on_config,
        .data = p,
    };
    p->live = live_config_new(&config);
    int r = live_config_open_files(p->live, err);
    if (r == 0) {
        r = etcd_client_open(p->loop, &p->flags, &p->etcd, err);
    }
    if (r == 0) {
        read_documents(p);
        r = live_config_begin(p->live, err);
    }
    if (r == 0) {
        p->options = *live_config_options(p->live);
        p->options.stubs = NULL; /* those change */
        p->is_settled = true;
    }
    return r;
}

static int settle_and_open(struct program *p, struct err *err)
{
    int r = settle_config(p, err);
    return r == 0 ? open_all(p, err) : r;
}

/* Opens without the snapshot: an address in its document may be one that etcd no longer names. */
static int open_without_snapshot(struct program *p, struct err *err)
{
    snapshot_start_refused(p->flags.snapshot, err->msg);
    p->has_snapshot = p->is_settled = false;
    p->refuses_snapshot = true;
    snapshot_content_fini(&p->snapshot);
    http_pages_free(STEAL(p->http));
    writer_documents_free(STEAL(p->documents));
    etcd_free(STEAL(p->etcd));
    answering_free(STEAL(p->answering));
    live_config_free(STEAL(p->live));
    publisher_free(p->publisher);
    p->publisher = publisher_new(); /* without the readers that were opened */
    return settle_and_open(p, err);
}

/* ---- Running ---- */

static void on_lameduck_end(struct ev_loop *loop, ev_timer *timer, int revents)
{
    (void)timer;
    (void)revents;
    ev_break(loop, EVBREAK_ALL);
}

/* Gives clients that follow /readiness time to switch to another server. */
static void become_lame_duck(struct program *p)
{
    log_info("no longer ready, still answering", LOG_INT("lameduck_ms", p->flags.lameduck_ms));
    service_manager_status(&p->manager, "stopping, still answering");
    p->status.is_lame_duck = true;
    ev_timer_init(&p->lameduck_end, on_lameduck_end, (double)p->flags.lameduck_ms / 1000, 0.);
    ev_timer_start(p->loop, &p->lameduck_end);
}

/* ---- Handing over ---- */

/* Ends, or waits for SIGTERM, once all clients have left. */
static void on_leaving(struct ev_loop *loop, ev_timer *timer, int revents)
{
    struct program *p = timer->data;
    const int64_t past_ms = clock_monotonic_ms() - p->leaving_since_ms;
    (void)revents;
    if (past_ms >= LEAVING_MS) {
        answering_leave(p->answering, LEAVING_PAUSE_MS);
    }
    if (answering_connections(p->answering) > 0 && past_ms < LEAVING_END_MS) {
        return;
    }
    ev_timer_stop(loop, timer);
    if (!handover_must_stay() || p->is_stopping) {
        ev_break(loop, EVBREAK_ALL);
        return;
    }
    answering_stop(p->answering);
    log_info("handed over, waiting for SIGTERM: a container would be started again");
}

static void skydns_on_taken(void *data, pid_t process)
{
    struct program *p = data;
    log_info("handed over to another skydns", LOG_INT("pid", process));
    service_manager_status(&p->manager, "handed over");
    p->status.serving = SERVING_LEFT;
    http_pages_leave(p->http);
    answering_leave(p->answering, LEAVING_IDLE_MS);
    p->status.keeper = NULL;
    snapshot_keeper_free(STEAL(p->keeper)); /* the other one writes it */
    p->leaving_since_ms = clock_monotonic_ms();
    ev_timer_init(&p->leaving, on_leaving, LEAVING_LOOK_MS / 1000.0, LEAVING_LOOK_MS / 1000.0);
    p->leaving.data = p;
    ev_timer_start(p->loop, &p->leaving);
}

static void on_signal(struct ev_loop *loop, ev_signal *watcher, int revents)
{
    struct program *p = watcher->data;
    bool is_first = !p->is_stopping;
    bool is_term = watcher->signum == SIGTERM;
    (void)revents;
    p->is_stopping = true;
    log_info("stopping", LOG_STR("signal", is_term ? "TERM" : "INT"));
    service_manager_stopping(&p->manager);
    bool has_clients = p->status.serving == SERVING_HERE || ev_is_active(&p->leaving);
    if (is_term && ev_is_active(&p->leaving)) {
        answering_leave(p->answering, LEAVING_PAUSE_MS);
    }
    if (is_first && is_term && p->sync && p->flags.lameduck_ms > 0 && has_clients) {
        become_lame_duck(p);
    } else {
        ev_break(loop, EVBREAK_ALL);
    }
}

static void skydns_on_hangup(struct ev_loop *loop, ev_signal *watcher, int revents)
{
    const struct program *p = watcher->data;
    (void)loop;
    (void)revents;
    certificate_reload(p->certificate);
    if (p->is_settled) {
        live_config_reload(p->live);
        answering_set_nameservers(p->answering, live_config_options(p->live)); /* perhaps fixed */
    }
}

static void skydns_watch_signal(struct program *p, ev_signal *watcher,
                                void (*cb)(struct ev_loop *, ev_signal *, int), int number)
{
    ev_signal_init(watcher, cb, number);
    watcher->data = p;
    ev_signal_start(p->loop, watcher);
}

static void skydns_watch_signals(struct program *p)
{
    skydns_watch_signal(p, &p->on_term, on_signal, SIGTERM);
    skydns_watch_signal(p, &p->on_int, on_signal, SIGINT);
    skydns_watch_signal(p, &p->on_hup, skydns_on_hangup, SIGHUP);
}

static struct config_refusals skydns_refusals(const void *data)
{
    const struct program *p = data;
    struct config_refusals now = live_config_refusals(p->live);
    now.certificate = certificate_is_refused(p->certificate);
    return now;
}

static size_t unusable_keys(const void *live)
{
    return live_config_unusable_keys(live);
}

static int64_t certificate_ends(const void *certificate)
{
    return certificate_not_after_s(certificate);
}

/* Refuses a snapshot whose sections make sense, but not with its records. */
static void refuse_snapshot(struct program *p)
{
    snapshot_start_refused(p->flags.snapshot, "what is in it does not fit together");
    snapshot_content_fini(&p->snapshot);
    p->has_snapshot = false;
    skydns_on_document(p, slice_of(NULL, 0)); /* until etcd says */
}

/* Starts the mirror. The records of a snapshot are published at once. */
static void start_sync(struct program *p)
{
    const struct store_sync_config config = {
        .loop = p->loop,
        .etcd = p->etcd,
        .publisher = p->publisher,
        .path_prefix = p->options.path_prefix,
        .skips_wildcards = p->options.engine.schema == ENGINE_SCHEMA_KUBERNETES,
        .followed = &p->followed,
        .default_ttl_s = p->options.engine.ttl_s,
        .domains = p->options.domains,
        .domain_count = p->options.domain_count,
        .requires_store_key = p->options.require_store_key,
        .start = p->has_snapshot ? &p->snapshot : NULL,
        .on_completeness = on_completeness,
        .stale_max_ms = p->options.stale_max_ms,
        .on_config = skydns_on_document,
        .wants_stubs = p->options.stubzones,
        .on_stubs = on_stubs,
        .wants_gone = p->options.has_http,
        .wants_marks = p->options.has_http,
        .wants_overrides = p->options.engine.overrides,
        .override_ttl_s = override_ttl_s(&p->options),
        .wants_clients = program_wants_clients_for(&p->options),
        .wants_topology = p->options.clients.wants_near,
        .on_visible = skydns_on_visible,
        .on_ready = skydns_on_ready,
        .data = p};
    etcd_client_watch(p->etcd, p->options.etcd_timeout_ms, p->loop, &p->outage, &p->followed);
    p->sync = store_sync_start(&config);
    if (p->has_snapshot && !store_sync_is_from_snapshot(p->sync, &(int64_t){0})) {
        refuse_snapshot(p);
    }
    live_config_set_clients(p->live, store_sync_clients(p->sync));
    live_config_republish(p->live); /* with them, and what a snapshot knows to be incomplete */
    if (!p->documents) {
        follow_writers(p, slice_of(NULL, 0), &p->options);
    }
}

static void start_feed(struct program *p)
{
    struct transfers *transfers = answering_transfers(p->answering);
    if (transfers) {
        p->feed = transfer_source_new(&(struct transfer_source_config){
            .loop = p->loop,
            .etcd = p->etcd,
            .publisher = p->publisher,
            .sync = p->sync,
            .transfers = transfers,
            .stale_max_ms = p->options.stale_max_ms,
            .known = on_serials_known,
            .data = p,
        });
        p->awaits_serials = live_config_options(p->live)->engine.transfer_count > 0 &&
                            !store_sync_is_ready(p->sync);
    }
}

static void start_keeper(struct program *p)
{
    if (*p->flags.snapshot) {
        const struct options *now = live_config_options(p->live);
        p->keeper = snapshot_keeper_new(&(struct snapshot_keeper_config){
            .loop = p->loop,
            .publisher = p->publisher,
            .sync = p->sync,
            .documents = p->documents,
            .path = p->flags.snapshot,
            .schema = p->options.engine.schema,
            .interval_ms = now->snapshot_interval_ms,
            .max_ms = now->snapshot_max_ms,
            .start = p->has_snapshot ? &p->snapshot : NULL,
            .caught_up = skydns_on_caught_up,
            .data = p,
        });
    }
    snapshot_content_fini(&p->snapshot); /* all of it has been taken */
}

static void skydns_explain_serial(const void *feed, const struct dname *apex,
                                  struct explain_serial *serial)
{
    const struct transfer_origin_of_serial origin = transfer_source_origin(feed, apex);
    serial->is_known = origin.is_known;
    serial->has_key = origin.has_key;
    serial->domain = origin.domain;
    serial->base = origin.base;
    serial->revision = origin.revision;
    serial->is_of_base = origin.is_of_base;
    serial->settings_part = origin.settings_part;
}

/* Explains denied reads of documents of settings, else of bases of serials: one denial is enough to
 * be told. */
static bool explain_denied(const void *program, struct buf *out)
{
    const struct program *p = program;
    return writer_documents_explain_denied(p->documents, out) ||
           transfer_source_explain_denied(p->feed, out);
}

static void open_client_figures(struct program *p)
{
    struct client_figures_config config = {
        .loop = p->loop,
        .tap = answering_tap(p->answering),
        .index = store_sync_clients(p->sync),
        .labels_max = p->options.namespace_metrics,
        .workers = p->status.workers,
        .worker_count = p->status.worker_count,
    };
    config.counts = answering_clients(p->answering, &config.count);
    if (config.count > 0) {
        p->status.clients = client_figures_new(&config);
    }
}

/* Adds what there is once the threads answer. */
static void complete_status(struct program *p)
{
    unsigned worker_count;
    p->status.workers = answering_workers(p->answering, &worker_count);
    p->status.worker_count = worker_count;
    p->status.keeper = p->keeper;
    p->status.serving = SERVING_HERE;
    open_client_figures(p);
}

static void set_status(struct program *p)
{
    p->status = (struct metrics_sources){
        .refusals = skydns_refusals,
        .settings = p,
        .explain_denied = explain_denied,
        .documents = p,
        .certificate_ends = p->certificate ? certificate_ends : NULL,
        .certificate = p->certificate,
        .dnssec_unusable = unusable_keys,
        .dnssec_files = p->live,
        .streams = answering_streams(p->answering),
        .transfers = answering_transfers(p->answering),
        .dnstap = answering_dnstap(p->answering),
        .snapshot = snapshot_keeper_counts,
        .serving = SERVING_WAITS,
        .start_s = p->start_s,
        .awaits_serials = p->awaits_serials,
        .skydns_prefix = http_pages_skydns_prefix(p->http),
        .publisher = p->publisher,
        .waiters = p->status.waiters,
        .watched = p->status.watched,
        .watch = p->status.watch,
        .past = p->status.past,
        .tap = answering_tap(p->answering),
        .explainer =
            p->options.has_http ? explainer_new(publisher_newest_config(p->publisher)) : NULL,
        .etcd = p->etcd,
        .outage = &p->outage,
        .followed = &p->followed,
        .sync = p->sync,
        .resolver = answering_resolver(p->answering),
    };
    if (p->status.explainer) {
        explainer_set_outage(p->status.explainer, &p->outage);
        explainer_set_rates(p->status.explainer, answering_rate_limit(p->answering),
                            answering_namespace_rate(p->answering));
    }
    if (p->status.explainer && p->feed) {
        explainer_set_serials(p->status.explainer, skydns_explain_serial, p->feed);
    }
}

/* Logs the start; the threads answer already. */
static void tell_started(struct program *p)
{
    live_config_opened(p->live);
    struct buf addresses;
    buf_init(&addresses, OPTION_TEXT_MAX);
    answering_addresses(p->answering, &addresses);
    option_text_log_start(&p->options, buf_cstr(&addresses));
    buf_fini(&addresses);
    service_manager_ready(&p->manager, p->has_snapshot ? "answering from a snapshot"
                                                       : "answering, waiting for etcd's records");
    if (store_sync_is_ready(p->sync) && !p->awaits_serials) {
        log_ready(p);
    }
}

/* Lets a running skydns answer until this one can. */
static int wait_to_take_over(struct program *p, struct err *err)
{
    int r = 0;
    if (handover_is_joined(p->handover)) {
        service_manager_status(&p->manager, "another skydns answers until this one can");
    }
    while (r == 0 && !p->is_stopping && handover_is_joined(p->handover) &&
           (!store_sync_is_ready(p->sync) || p->awaits_serials)) {
        ev_run(p->loop, EVRUN_ONCE);
        r = handover_look(p->handover, err);
    }
    return r;
}

/* Starts to answer, alone from then on. */
static int start_serving(struct program *p, struct err *err)
{
    int r = answering_start(p->answering, err);
    if (r == 0) {
        http_pages_serve(p->http);
        tell_started(p);
        start_keeper(p);
        complete_status(p);
    }
    if (r == 0 && p->handover) {
        p->offered = *answering_offer(p->answering);
        http_pages_offer(p->http, &p->offered);
        r = handover_serve(p->handover, &p->offered, skydns_on_taken, p, err);
        p->status.handovers_refused = handover_offer_refused;
        p->status.offer = handover_its_offer(p->handover);
    }
    return r;
}

static int skydns_run(struct program *p, struct err *err)
{
    start_sync(p); /* what a snapshot knows is answered from the first query on */
    start_feed(p);
    set_status(p);
    int r = wait_to_take_over(p, err);
    if (r < 0 || (p->is_stopping && handover_is_joined(p->handover))) {
        return r;
    }
    r = start_serving(p, err);
    if (r == 0 && !p->is_stopping) {
        ev_run(p->loop, 0);
    }
    /* Lets a further signal end the process at once. */
    ev_timer_stop(p->loop, &p->lameduck_end);
    ev_timer_stop(p->loop, &p->leaving);
    ev_signal_stop(p->loop, &p->on_term);
    ev_signal_stop(p->loop, &p->on_int);
    if (p->keeper) {
        size_t bytes = snapshot_keeper_counts(p->keeper).bytes; /* of the file as it is */
        snapshot_keeper_finish(p->keeper, snapshot_keeper_end_ms(bytes));
    }
    answering_stop(p->answering);
    return r;
}

static void close_all(struct program *p)
{
    http_pages_free(p->http);
    explainer_free(p->status.explainer);
    client_figures_free(p->status.clients);
    handover_free(p->handover);
    transfer_source_free(p->feed);
    ev_async_stop(p->loop, &p->fed);
    snapshot_keeper_free(p->keeper);
    snapshot_content_fini(&p->snapshot);
    writer_documents_free(p->documents);
    store_sync_stop(p->sync);
    if (p->sync) {
        outage_fini(&p->outage);
    }
    etcd_free(p->etcd);
    answering_free(p->answering);
    certificate_free(p->certificate);
    live_config_free(p->live);
    publisher_free(p->publisher);
    zone_serials_free(p->serials);
    cache_tally_free(p->tally);
    stub_zones_unref(p->flags.stubs);
    service_manager_fini(&p->manager);
    ev_loop_destroy(p->loop);
}

static void confine_to_files(const struct program *p)
{
    const char *const written[] = {p->flags.snapshot, p->place.socket, p->flags.http_socket};
    struct option_files *files = option_files_new(&p->flags);
    confine_files((const char *const *)files->paths, files->count, resolv_conf, written,
                  ARRAY_LEN(written));
    option_files_free(files);
}

/* Drops privileges; the file of -snapshot has been read, and is not read again. */
static int skydns_drop_privileges(const struct options *flags, struct err *err)
{
    struct option_files *files = option_files_new(flags);
    int r = privileges_drop(&flags->user, (const char *const *)files->paths, files->count, err);
    option_files_free(files);
    return r;
}

int main(int argc, char **argv)
{
    static struct program program;
    struct program *p = &program;
    struct err err = {0};
    int r = skydns_options_parse(argc, argv, &p->flags, &err);
    if (r != 0) {
        return r == FLAGS_HELP ? 0 : commands_fail(&err);
    }
    if (commands_run(&p->flags, &r)) {
        return r;
    }
    log_set_level((enum log_level)p->flags.log_level);
    log_set_format((enum log_format)p->flags.log_format);
    (void)signal(SIGPIPE, SIG_IGN); /* writing to a closed peer is an error, not a signal */
    process_metrics_open();
    const uid_t user = p->flags.user.is_set ? p->flags.user.uid : geteuid();
    r = p->flags.reuse_port
            ? handover_place_find(p->flags.snapshot, &p->flags.addresses[0], user, &p->place, &err)
            : 0;
    if (r < 0) {
        return commands_fail(&err);
    }
    privileges_begin(&p->flags.user);
    confine_to_files(p);
    log_start();
    record_json_use_xalloc();
    p->start_s = clock_wall_s();
    p->loop = ev_default_loop(EVFLAG_AUTO);
    p->tally = cache_tally_new();
    p->publisher = publisher_new();
    p->serials = zone_serials_new();
    ev_async_init(&p->fed, on_fed);
    ev_async_start(p->loop, &p->fed);
    service_manager_init(&p->manager, p->loop);
    skydns_watch_signals(p);
    option_text_log_ignored(&p->flags.ignored);
    r = *p->flags.cert ? certificate_new(p->loop, &p->flags, &p->certificate, &err) : 0;
    if (r == 0 && p->flags.reuse_port) {
        r = handover_open(p->loop, &p->place, user, &p->handover, &err);
    }
    if (r == 0) {
        r = settle_and_open(p, &err);
    }
    if (r < 0 && p->has_snapshot && snapshot_start_document(&p->snapshot).ptr) {
        r = open_without_snapshot(p, &err);
    }
    if (r == 0) {
        handover_opened(p->handover);
        r = skydns_drop_privileges(&p->flags, &err);
    }
    if (r == 0) {
        confine_calls();
        r = skydns_run(p, &err);
    }
    close_all(p);
    r = r == 0 ? 0 : commands_fail(&err);
    log_stop(LOG_STOP_MS);
    return r;
}
