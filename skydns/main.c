/* skydns: answers DNS queries from the records in etcd. Wiring and signals only.
 *
 * This thread runs etcd, the store and HTTP on its loop; workers answer UDP; the resolver thread
 * answers TCP and waits for nameservers. Everything is opened before the first thread starts, so
 * that an unusable address ends the program with one line. */
#include <errno.h>
#include <ev.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/clock.h"
#include "common/base/flags.h"
#include "common/base/log.h"
#include "common/base/outage.h"
#include "common/base/privileges.h"
#include "common/base/service_manager.h"
#include "common/base/version.h"
#include "common/base/xalloc.h"
#include "common/dns/record_json.h"
#include "common/etcd/etcd.h"
#include "common/http/healthcheck.h"
#include "common/http/http_server.h"
#include "skydns/answering.h"
#include "skydns/corefile/corefile.h"
#include "skydns/foreign/cache_counts.h"
#include "skydns/live_config.h"
#include "skydns/option_text.h"
#include "skydns/options.h"
#include "skydns/pages/explain.h"
#include "skydns/pages/explain_client.h"
#include "skydns/pages/status.h"
#include "skydns/sandbox.h"
#include "skydns/store/publisher.h"
#include "skydns/stub_zones.h"
#include "skydns/sync/store_sync.h"
#include "skydns/sync/writer_documents.h"

/* Per etcd call: a page of 5,000 keys takes 10 ms, on a busy etcd a hundred times that. After this
 * time without a byte, the client tries another endpoint. */
enum { ETCD_CALL_TIMEOUT_MS = 5000 };

/* Names in one log line: at most 64, none longer than 16. */
enum { IGNORED_NAMES_MAX = 1024 };

static const char resolv_conf[] = "/etc/resolv.conf";

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
    struct service_manager manager;
    struct cache_tally *tally;
    struct publisher *publisher;
    struct etcd *etcd;
    struct outage outage; /* etcd's */
    struct outage_source followed;
    struct store_sync *sync;
    struct writer_documents *documents; /* set with `sync` */
    struct http_server *http;
    struct http_server *prometheus;
    struct http_route prometheus_route;
    char *skydns_prefix; /* of SkyDNS's metrics; NULL: off */
    struct metrics_sources status;
    struct answering *answering;
    struct explainer *explainer;
};

/* ---- Readiness ---- */

static void log_ready(const struct program *p)
{
    const struct options *now = live_config_options(p->live);
    for (size_t i = 0; i < now->domain_count; i++) {
        answering_log_ready(p->answering, &now->domains[i]);
    }
}

static void on_ready(void *data)
{
    struct program *p = data;
    p->followed.away_line = "etcd away, answering from memory";
    log_ready(p);
    service_manager_status(&p->manager, "ready for queries");
}

/* ---- Opening ---- */

/* As SkyDNS did: metrics on every address, including IPv6 where available. */
static int open_prometheus(struct program *p, struct err *err)
{
    const struct options *o = &p->options;
    struct addr any = {.v6 = {.sin6_family = AF_INET6, .sin6_port = htons(o->prometheus_port)},
                       .len = sizeof(any.v6)};
    p->skydns_prefix = xasprintf("%s_%s_", o->prometheus_namespace, o->prometheus_subsystem);
    p->prometheus_route = status_metrics_route(&p->status, o->prometheus_path);
    int r = http_server_new(p->loop, &any, &p->prometheus_route, 1, &p->prometheus, err);
    if (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL) {
        any = (struct addr){.v4 = {.sin_family = AF_INET, .sin_port = htons(o->prometheus_port)},
                            .len = sizeof(any.v4)};
        r = http_server_new(p->loop, &any, &p->prometheus_route, 1, &p->prometheus, err);
    }
    return r < 0 ? err_wrap(err, r, "environment variable PROMETHEUS_PORT") : 0;
}

static void log_prometheus(const struct options *o)
{
    char line[128];
    (void)snprintf(line, sizeof(line), "skydns: metrics enabled on :%u%s", o->prometheus_port,
                   o->prometheus_path); /* a truncated path is still recognisable */
    log_info(line);
}

static int open_http(struct program *p, struct err *err)
{
    static struct http_route routes[STATUS_ROUTES];
    int r = p->options.prometheus_port ? open_prometheus(p, err) : 0;
    status_routes(&p->status, routes);
    if (r < 0 || !p->options.has_http) {
        return r;
    }
    p->explainer = explainer_new(publisher_newest_config(p->publisher));
    r = http_server_new(p->loop, &p->options.http_address, routes, ARRAY_LEN(routes), &p->http,
                        err);
    return r < 0 ? err_wrap(err, r, "flag -http-addr") : 0;
}

static void on_credentials(void *data, const struct err *err)
{
    (void)data;
    if (err) {
        log_warn("cannot use changed credential files, keeping the old ones",
                 LOG_STR("error", err->msg));
    } else {
        log_info("credential files reloaded");
    }
}

static int open_etcd(struct program *p, struct err *err)
{
    const struct options *o = &p->flags;
    const struct etcd_config config = {
        .loop = p->loop,
        .endpoints = o->machines,
        .call_timeout_ms = ETCD_CALL_TIMEOUT_MS,
        .tls = {.ca = o->ca_cert, .cert = o->tls_pem, .key = o->tls_key},
        .on_credentials = on_credentials,
        .username = o->username,
        .password = o->password,
        .password_file = o->password_file,
    };
    int r = etcd_new(&config, &p->etcd, err);
    return r == ERR_USAGE ? err_wrap(err, r, "flag -machines") : r;
}

static int open_all(struct program *p, struct err *err)
{
    privileges_raise_bind();
    int r = answering_open(&p->options, p->publisher, &p->answering, err);
    if (r == 0) {
        r = open_http(p, err);
    }
    return r;
}

/* SSL_CERT_FILE and SSL_CERT_DIR, too, where OpenSSL looks for the system's CAs. */
static void confine_files(const struct options *o)
{
    const char *ca_file = getenv("SSL_CERT_FILE"), *ca_folder = getenv("SSL_CERT_DIR");
    const char *const paths[] = {
        resolv_conf,
        o->ca_cert,
        o->tls_pem,
        o->tls_key,
        o->password_file,
        o->config_file,
        ca_file ? ca_file : "",
        ca_folder ? ca_folder : "",
    };
    const char *all[ARRAY_LEN(paths) + FLAG_STRINGS_MAX];
    memcpy(all, paths, sizeof(paths));
    memcpy(all + ARRAY_LEN(paths), o->hosts.items, o->hosts.count * sizeof(all[0]));
    int r = sandbox_files(all, ARRAY_LEN(paths) + o->hosts.count);
    if (r < 0) {
        log_info("this kernel does not restrict which files may be read",
                 LOG_STR("error", err_code_text(r)));
    }
}

static void confine_calls(void)
{
    int r = sandbox_calls();
    if (r < 0) {
        log_info("this kernel does not restrict system calls", LOG_STR("error", err_code_text(r)));
    }
}

/* The threads that answer start afterwards. */
static int drop_privileges(const struct options *o, struct err *err)
{
    const char *files[5 + FLAG_STRINGS_MAX] = {o->ca_cert, o->tls_pem, o->tls_key, o->password_file,
                                               o->config_file};
    memcpy(files + 5, o->hosts.items, o->hosts.count * sizeof(files[0]));
    return privileges_drop(&o->user, files, 5 + o->hosts.count, err);
}

static void on_document(void *data, struct slice value)
{
    struct program *p = data;
    live_config_take(p->live, value);
}

static void on_writers_document(void *data, const struct dname *domain, struct slice value)
{
    struct program *p = data;
    live_config_take_writers(p->live, domain, value);
}

static void on_config(void *data, const struct options *before, const struct options *now)
{
    struct program *p = data;
    bool same = before->domain_count == now->domain_count;
    for (size_t i = 0; same && i < now->domain_count; i++) {
        same = dname_equal(&before->domains[i], &now->domains[i]);
    }
    if (p->sync) { /* else the start is in progress and will see it */
        store_sync_set_default_ttl(p->sync, now->ttl_s);
        store_sync_set_domains(p->sync, now->domains, now->domain_count, now->require_store_key);
    }
    if (p->sync && !same) {
        writer_documents_set_domains(p->documents, now->domains, now->domain_count);
    }
    if (p->sync && now->stubzones != before->stubzones) {
        store_sync_set_stubs(p->sync, now->stubzones);
    }
    if (!same && p->sync && store_sync_is_ready(p->sync)) {
        log_ready(p);
    }
    if (!options_same_upstream(before, now)) {
        answering_set_nameservers(p->answering, now);
    }
}

static void on_stubs(void *data, const struct foreign_zone *zones, size_t count)
{
    struct program *p = data;
    log_info("stub zones in etcd changed", LOG_INT("zones", (int64_t)count));
    live_config_take_stubs(p->live, zones, count);
}

static bool is_incomplete(void *data, const struct dname *domain)
{
    const struct program *p = data;
    return p->sync && store_sync_is_incomplete(p->sync, domain); /* else there are no records */
}

static void on_completeness(void *data)
{
    struct program *p = data;
    live_config_republish(p->live);
}

/* Settings for opening come first: from the flags, and from etcd if reachable. */
static int settle_config(struct program *p, struct err *err)
{
    const struct live_config_config config = {
        .loop = p->loop,
        .flags = &p->flags,
        .publisher = p->publisher,
        .resolv_conf = resolv_conf,
        .tally = p->tally,
        .is_incomplete = is_incomplete,
        .changed = on_config,
        .data = p,
    };
    p->live = live_config_new(&config);
    int r = live_config_open_files(p->live, err);
    if (r == 0) {
        r = open_etcd(p, err);
    }
    if (r == 0) {
        live_config_read(p->live, p->etcd);
        r = live_config_begin(p->live, err);
    }
    if (r == 0) {
        p->options = *live_config_options(p->live);
        p->options.stubs = NULL; /* those change */
        p->is_settled = true;
    }
    return r;
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

static void on_signal(struct ev_loop *loop, ev_signal *watcher, int revents)
{
    struct program *p = watcher->data;
    bool is_first = !p->is_stopping;
    bool is_term = watcher->signum == SIGTERM;
    (void)revents;
    p->is_stopping = true;
    log_info("stopping", LOG_STR("signal", is_term ? "TERM" : "INT"));
    service_manager_stopping(&p->manager);
    if (is_first && is_term && p->sync && p->flags.lameduck_ms > 0) {
        become_lame_duck(p);
    } else {
        ev_break(loop, EVBREAK_ALL);
    }
}

static void on_hangup(struct ev_loop *loop, ev_signal *watcher, int revents)
{
    const struct program *p = watcher->data;
    (void)loop;
    (void)revents;
    if (p->is_settled) {
        live_config_reload(p->live);
        answering_set_nameservers(p->answering, live_config_options(p->live)); /* perhaps fixed */
    }
}

static void watch_signal(struct program *p, ev_signal *watcher,
                         void (*cb)(struct ev_loop *, ev_signal *, int), int number)
{
    ev_signal_init(watcher, cb, number);
    watcher->data = p;
    ev_signal_start(p->loop, watcher);
}

static void watch_signals(struct program *p)
{
    watch_signal(p, &p->on_term, on_signal, SIGTERM);
    watch_signal(p, &p->on_int, on_signal, SIGINT);
    watch_signal(p, &p->on_hup, on_hangup, SIGHUP);
}

static const char *current_endpoint(const void *etcd)
{
    return etcd_endpoint(etcd);
}

static void watch_etcd(struct program *p)
{
    outage_init(&p->outage, p->loop, "etcd", p->options.etcd_timeout_ms,
                "etcd has been away for longer than etcd-timeout, still retrying");
    p->followed.away_line = "etcd away, no records yet";
    p->followed.back_line = "etcd is followed";
    p->followed.endpoint = current_endpoint;
    p->followed.data = p->etcd;
    outage_join(&p->outage, &p->followed, true);
}

static void log_started(const struct program *p)
{
    struct buf addresses, domains, nameservers;
    buf_init(&addresses, OPTION_TEXT_MAX);
    buf_init(&domains, OPTION_TEXT_MAX);
    buf_init(&nameservers, OPTION_TEXT_MAX);
    answering_addresses(p->answering, &addresses);
    option_text_domains(&p->options, &domains);
    option_text_nameservers(&p->options, &nameservers);
    log_info("skydns started", LOG_STR("version", version_string),
             LOG_INT("workers", p->options.workers), LOG_STR("machines", p->options.machines),
             LOG_STR("addresses", buf_cstr(&addresses)), LOG_STR("domains", buf_cstr(&domains)),
             LOG_STR("schema", option_text_schema(p->options.schema)),
             LOG_STR("nameservers", buf_cstr(&nameservers)));
    buf_fini(&addresses);
    buf_fini(&domains);
    buf_fini(&nameservers);
}

static struct metrics_refusals refusals(const void *live)
{
    return live_config_refusals(live);
}

static int run(struct program *p, struct err *err)
{
    const struct store_sync_config config = {.loop = p->loop,
                                             .etcd = p->etcd,
                                             .publisher = p->publisher,
                                             .path_prefix = p->options.path_prefix,
                                             .skips_wildcards =
                                                 p->options.schema == ENGINE_SCHEMA_KUBERNETES,
                                             .followed = &p->followed,
                                             .default_ttl_s = p->options.ttl_s,
                                             .domains = p->options.domains,
                                             .domain_count = p->options.domain_count,
                                             .requires_store_key = p->options.require_store_key,
                                             .on_completeness = on_completeness,
                                             .stale_max_ms = p->options.stale_max_ms,
                                             .on_config = on_document,
                                             .wants_stubs = p->options.stubzones,
                                             .on_stubs = on_stubs,
                                             .on_ready = on_ready,
                                             .data = p};
    int r = answering_start(p->answering, err);
    if (r == 0) {
        live_config_opened(p->live);
        if (p->prometheus) {
            log_prometheus(&p->options);
        }
        log_started(p);
        service_manager_ready(&p->manager, "answering, waiting for etcd's records");
        watch_etcd(p);
        p->documents = writer_documents_new(&(struct writer_documents_config){
            .loop = p->loop,
            .etcd = p->etcd,
            .stale_max_ms = p->options.stale_max_ms,
            .changed = on_writers_document,
            .data = p,
        });
        p->sync = store_sync_start(&config);
        writer_documents_set_domains(p->documents, p->options.domains, p->options.domain_count);
        unsigned worker_count;
        struct worker *const *workers = answering_workers(p->answering, &worker_count);
        p->status = (struct metrics_sources){
            .refusals = refusals,
            .settings = p->live,
            .start_s = p->start_s,
            .skydns_prefix = p->skydns_prefix,
            .publisher = p->publisher,
            .explainer = p->explainer,
            .etcd = p->etcd,
            .outage = &p->outage,
            .followed = &p->followed,
            .sync = p->sync,
            .resolver = answering_resolver(p->answering),
            .workers = workers,
            .worker_count = worker_count,
        };
        if (!p->is_stopping) {
            ev_run(p->loop, 0);
        }
    }
    /* A further signal ends the process at once. */
    ev_timer_stop(p->loop, &p->lameduck_end);
    ev_signal_stop(p->loop, &p->on_term);
    ev_signal_stop(p->loop, &p->on_int);
    answering_stop(p->answering);
    return r;
}

static void close_all(struct program *p)
{
    http_server_free(p->http);
    http_server_free(p->prometheus);
    free(p->skydns_prefix);
    explainer_free(p->explainer);
    writer_documents_free(p->documents);
    store_sync_stop(p->sync);
    if (p->sync) {
        outage_fini(&p->outage);
    }
    etcd_free(p->etcd);
    answering_free(p->answering);
    live_config_free(p->live);
    publisher_free(p->publisher);
    cache_tally_free(p->tally);
    stub_zones_unref(p->flags.stubs);
    service_manager_fini(&p->manager);
    ev_loop_destroy(p->loop);
}

static void log_ignored(const struct flag_strings *ignored)
{
    struct buf names;
    buf_init(&names, IGNORED_NAMES_MAX);
    for (size_t i = 0; i < ignored->count; i++) {
        buf_printf(&names, "%s%s", i ? " " : "", ignored->items[i]);
    }
    if (ignored->count > 0) {
        log_warn("accepted and ignored", LOG_STR("settings", buf_cstr(&names)));
    }
    buf_fini(&names);
}

static int fail(const struct err *err)
{
    log_plain("skydns", err->msg);
    return err->code == ERR_USAGE ? 2 : 1;
}

int main(int argc, char **argv)
{
    static struct program program;
    struct program *p = &program;
    struct err err = {0};
    int r = options_parse(argc, argv, &p->flags, &err);
    if (r != 0) {
        return r == FLAGS_HELP ? 0 : fail(&err);
    }
    if (p->flags.version) {
        printf("skydns server version: %s\n", version_string);
        return 0;
    }
    if (*p->flags.corefile) {
        return corefile_main(p->flags.corefile);
    }
    if (*p->flags.healthcheck) {
        return healthcheck_main("skydns", p->flags.healthcheck);
    }
    if (*p->flags.explain) {
        r = explain_client(&p->flags.http_address, p->flags.explain, p->flags.explain_type, &err);
        return r == 0 ? 0 : fail(&err);
    }
    log_set_level((enum log_level)p->flags.log_level);
    log_set_format((enum log_format)p->flags.log_format);
    (void)signal(SIGPIPE, SIG_IGN); /* writing to a closed peer is an error, not a signal */
    privileges_begin(&p->flags.user);
    confine_files(&p->flags);
    log_start();
    record_json_use_xalloc();
    p->start_s = clock_wall_s();
    p->loop = ev_default_loop(EVFLAG_AUTO);
    p->tally = cache_tally_new();
    p->publisher = publisher_new();
    service_manager_init(&p->manager, p->loop);
    watch_signals(p);
    log_ignored(&p->flags.ignored);
    r = settle_config(p, &err);
    if (r == 0) {
        r = open_all(p, &err);
    }
    if (r == 0) {
        r = drop_privileges(&p->flags, &err);
    }
    if (r == 0) {
        confine_calls();
        r = run(p, &err);
    }
    close_all(p);
    r = r == 0 ? 0 : fail(&err);
    log_stop(LOG_STOP_MS);
    return r;
}
