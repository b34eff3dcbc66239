/* skydns: answers DNS queries from the records in etcd. Wiring and signals only.
 *
 * This thread runs etcd, the store and HTTP on its loop; the workers answer UDP, the resolver's
 * thread answers TCP and waits for nameservers. Everything is opened before the first thread
 * starts, so that an address that cannot be used ends the program with one line. */
#include <ev.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "common/clock.h"
#include "common/etcd.h"
#include "common/flags.h"
#include "common/http_server.h"
#include "common/log.h"
#include "common/outage.h"
#include "common/record_json.h"
#include "common/version.h"
#include "skydns/engine.h"
#include "skydns/forwarder.h"
#include "skydns/options.h"
#include "skydns/query_counts.h"
#include "skydns/resolver.h"
#include "skydns/snapshot.h"
#include "skydns/status.h"
#include "skydns/store_sync.h"
#include "skydns/tcp_server.h"
#include "skydns/udp_server.h"
#include "skydns/worker.h"

/* What the old program gave records that say nothing themselves. */
enum { DEFAULT_TTL_S = 3600, DEFAULT_MIN_TTL_S = 60, DEFAULT_PRIORITY = 10 };

/* Descriptors kept for everything but TCP clients and nameservers: workers, HTTP (64), etcd, logs.
 */
enum { DESCRIPTORS_RESERVED = 256 };

/* Of one etcd call: a page of 5,000 keys takes 10 ms, a busy etcd a hundred times that. After this
 * long without a word from it, another endpoint is tried. */
enum { ETCD_CALL_TIMEOUT_MS = 5000 };

struct udp_lane {
    struct udp_server *udp;
    struct engine *engine;
};

struct program {
    int64_t start_s; /* Unix time */
    struct options options;
    struct engine_config engine_config;
    struct ev_loop *loop;
    ev_signal on_term;
    ev_signal on_int;
    struct snapshot *snapshot;
    struct etcd *etcd;
    struct outage outage; /* etcd's */
    struct outage_source followed;
    struct store_sync *sync;
    struct http_server *http;
    struct metrics_sources status;
    struct engine *resolver_engine;
    struct resolver *resolver;
    struct udp_lane lanes[OPTIONS_WORKERS_MAX];
    struct worker *workers[OPTIONS_WORKERS_MAX];
};

/* ---- Readiness ---- */

static void log_ready(const struct program *p, const char *transport)
{
    char domain[DNAME_TEXT_MAX], address[ADDR_TEXT_MAX];
    char line[DNAME_TEXT_MAX + ADDR_TEXT_MAX + 64];
    (void)snprintf(line, sizeof(line), "skydns: ready for queries on %s for %s://%s",
                   dname_to_text(&p->options.domain, domain), transport,
                   addr_format(&p->options.address, address)); /* always fits */
    log_info(line);
}

static void on_ready(void *data)
{
    struct program *p = data;
    p->followed.away_line = "etcd away, answering from memory";
    log_ready(p, "tcp");
    log_ready(p, "udp");
}

/* ---- Opening ---- */

/* As many descriptors as are allowed; TCP clients and questions to nameservers share them evenly.
 * Returns the share of each. */
static size_t raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) {
        return DESCRIPTORS_RESERVED;
    }
    struct rlimit raised = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) {
        limit = raised;
    }
    if (limit.rlim_cur <= 2 * DESCRIPTORS_RESERVED) {
        return limit.rlim_cur / 4 + 1;
    }
    return (limit.rlim_cur - DESCRIPTORS_RESERVED) / 2;
}

static size_t at_most(size_t n, size_t limit)
{
    return n < limit ? n : limit;
}

static int open_resolver(struct program *p, struct err *err)
{
    size_t descriptors = raise_descriptor_limit();
    p->resolver_engine = engine_new(&p->engine_config);
    const struct resolver_config config = {
        .address = &p->options.address,
        .connections_max = at_most(descriptors, TCP_CONNECTIONS_MAX),
        .nameservers = p->options.nameservers,
        .nameserver_count = p->options.nameserver_count,
        .rotate = p->options.ns_rotate,
        .timeout_ms = p->options.rtimeout_ms,
        .outstanding_max = at_most(descriptors, FORWARDER_OUTSTANDING_MAX),
        .engine = p->resolver_engine,
        .reader = snapshot_reader_new(p->snapshot),
        .workers = p->options.workers,
        .verbose = p->options.verbose,
    };
    return resolver_new(&config, &p->resolver, err);
}

static int open_udp(struct program *p, struct err *err)
{
    const struct udp_server_config config = {.address = &p->options.address,
                                             .reply_max = p->options.max_udp_size};
    for (unsigned i = 0; i < p->options.workers; i++) {
        int r = udp_server_new(&config, &p->lanes[i].udp, err);
        if (r < 0) {
            return r;
        }
        p->lanes[i].engine = engine_new(&p->engine_config);
    }
    size_t granted = udp_server_receive_buffer(p->lanes[0].udp);
    if (granted < UDP_RECEIVE_BUFFER) {
        log_warn("small UDP receive buffer, bursts may be lost; raise net.core.rmem_max",
                 LOG_INT("bytes", (int64_t)granted), LOG_INT("wanted", UDP_RECEIVE_BUFFER));
    }
    return 0;
}

static int open_http(struct program *p, struct err *err)
{
    static struct http_route routes[STATUS_ROUTES];
    status_routes(&p->status, routes);
    if (!p->options.has_http) {
        return 0;
    }
    return http_server_new(p->loop, &p->options.http_address, routes, ARRAY_LEN(routes), &p->http,
                           err);
}

static void on_credentials(void *data, const struct err *err)
{
    (void)data;
    if (err) {
        log_warn("changed credential files cannot be used, keeping the old ones",
                 LOG_STR("error", err->msg));
    } else {
        log_info("credential files read again");
    }
}

static int open_etcd(struct program *p, struct err *err)
{
    const struct options *o = &p->options;
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

/* The TCP address first: it is not shared, so a second skydns on the same address fails here. */
static int open_all(struct program *p, struct err *err)
{
    int r = open_resolver(p, err);
    if (r == 0) {
        r = open_udp(p, err);
    }
    if (r == 0) {
        r = open_http(p, err);
    }
    if (r == 0) {
        r = open_etcd(p, err);
    }
    return r;
}

/* ---- Running ---- */

/* Signals stay with the main thread: those made here block them. */
static int start_threads(struct program *p, struct err *err)
{
    sigset_t all, before;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail with these arguments */
    int r = resolver_start(p->resolver, err);
    for (unsigned i = 0; i < p->options.workers && r == 0; i++) {
        const struct worker_config config = {
            .index = i,
            .udp = p->lanes[i].udp,
            .engine = p->lanes[i].engine,
            .reader = snapshot_reader_new(p->snapshot),
            .resolver = p->resolver,
            .verbose = p->options.verbose,
        };
        r = worker_start(&config, &p->workers[i], err);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* the same */
    return r;
}

/* What has arrived is answered; then the threads end, the workers before the resolver that they
 * hand queries to. */
static void stop_threads(struct program *p)
{
    struct resolver_sums late;
    struct query_sums counts = {0};
    for (unsigned i = 0; i < p->options.workers; i++) {
        udp_server_stop(p->lanes[i].udp);
    }
    for (unsigned i = 0; i < p->options.workers; i++) {
        if (p->workers[i]) {
            worker_join(p->workers[i]);
            worker_sums_add(p->workers[i], &counts);
        }
    }
    resolver_stop(p->resolver);
    resolver_sums(p->resolver, &late);
    log_info("stopped", LOG_INT("udp_queries", (int64_t)counts.queries),
             LOG_INT("answered", (int64_t)counts.answered),
             LOG_INT("deferred", (int64_t)counts.deferred),
             LOG_INT("refused", (int64_t)counts.refused),
             LOG_INT("unsent", (int64_t)(counts.unsent + late.udp.unsent)),
             LOG_INT("tcp_queries", (int64_t)late.tcp.queries));
}

static void on_signal(struct ev_loop *loop, ev_signal *watcher, int revents)
{
    (void)revents;
    log_info("stopping", LOG_STR("signal", watcher->signum == SIGINT ? "INT" : "TERM"));
    ev_break(loop, EVBREAK_ALL);
}

static void watch_signals(struct program *p)
{
    (void)signal(SIGPIPE, SIG_IGN); /* a peer that went is an error of its write */
    ev_signal_init(&p->on_term, on_signal, SIGTERM);
    ev_signal_start(p->loop, &p->on_term);
    ev_signal_init(&p->on_int, on_signal, SIGINT);
    ev_signal_start(p->loop, &p->on_int);
}

static const char *current_endpoint(const void *etcd)
{
    return etcd_endpoint(etcd);
}

static void watch_etcd(struct program *p)
{
    outage_init(&p->outage, p->loop, "etcd", p->options.etcd_timeout_ms,
                "etcd has been away for longer than etcd-timeout, trying on");
    p->followed.away_line = "etcd away, no records yet";
    p->followed.back_line = "etcd is followed";
    p->followed.endpoint = current_endpoint;
    p->followed.data = p->etcd;
    outage_join(&p->outage, &p->followed, true);
}

static int run(struct program *p, struct err *err)
{
    const struct store_sync_config config = {.loop = p->loop,
                                             .etcd = p->etcd,
                                             .snapshot = p->snapshot,
                                             .path_prefix = p->options.path_prefix,
                                             .followed = &p->followed,
                                             .default_ttl_s = DEFAULT_TTL_S,
                                             .on_ready = on_ready,
                                             .data = p};
    watch_signals(p);
    int r = start_threads(p, err);
    if (r == 0) {
        log_info("skydns started", LOG_STR("version", version_string),
                 LOG_INT("workers", p->options.workers), LOG_STR("machines", p->options.machines));
        watch_etcd(p);
        p->sync = store_sync_start(&config);
        p->status = (struct metrics_sources){
            .start_s = p->start_s,
            .etcd = p->etcd,
            .outage = &p->outage,
            .followed = &p->followed,
            .sync = p->sync,
            .resolver = p->resolver,
            .workers = p->workers,
            .worker_count = p->options.workers,
        };
        ev_run(p->loop, 0);
    }
    /* A second signal ends the program at once. */
    ev_signal_stop(p->loop, &p->on_term);
    ev_signal_stop(p->loop, &p->on_int);
    stop_threads(p);
    return r;
}

static void close_all(struct program *p)
{
    http_server_free(p->http);
    store_sync_stop(p->sync);
    if (p->sync) {
        outage_fini(&p->outage);
    }
    etcd_free(p->etcd);
    resolver_free(p->resolver);
    engine_free(p->resolver_engine);
    for (unsigned i = 0; i < p->options.workers; i++) {
        worker_free(p->workers[i]);
        udp_server_free(p->lanes[i].udp);
        engine_free(p->lanes[i].engine);
    }
    snapshot_free(p->snapshot);
    ev_loop_destroy(p->loop);
}

static int parse_options(int argc, char **argv, struct options *options, struct err *err)
{
    int r = options_parse(argc, argv, options, err);
    if (r == 0 && !options->version && options->nameserver_count == 0) {
        r = options_read_resolv_conf(options, "/etc/resolv.conf", err);
    }
    return r;
}

static int fail(const struct err *err)
{
    (void)fprintf(stderr, "skydns: %s\n", err->msg); /* no better place to say so */
    return err->code == ERR_USAGE ? 2 : 1;
}

int main(int argc, char **argv)
{
    static struct program program;
    struct program *p = &program;
    struct err err = {0};
    int r = parse_options(argc, argv, &p->options, &err);
    if (r != 0) {
        return r == FLAGS_HELP ? 0 : fail(&err);
    }
    if (p->options.version) {
        printf("skydns server version: %s\n", version_string);
        return 0;
    }
    record_json_use_xalloc();
    p->engine_config = (struct engine_config){
        .domain = p->options.domain,
        .hostmaster = p->options.hostmaster,
        .local = p->options.local,
        .ttl_s = DEFAULT_TTL_S,
        .min_ttl_s = DEFAULT_MIN_TTL_S,
        .priority = DEFAULT_PRIORITY,
        .max_udp_size = p->options.max_udp_size,
        .round_robin = p->options.round_robin,
        .no_rec = p->options.no_rec,
        .has_nameservers = p->options.nameserver_count > 0,
        .ndots = p->options.ndots,
    };
    p->start_s = clock_wall_s();
    p->loop = ev_default_loop(EVFLAG_AUTO);
    p->snapshot = snapshot_new();
    r = open_all(p, &err);
    if (r == 0) {
        r = run(p, &err);
    }
    close_all(p);
    return r == 0 ? 0 : fail(&err);
}
