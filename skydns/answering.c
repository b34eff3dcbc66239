#include "skydns/answering.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/http/http_waiters.h"
#include "skydns/answering_sockets.h"
#include "skydns/confine/process_limits.h"
#include "skydns/dnsgrpc/dnsgrpc.h"
#include "skydns/dnstap/dnstap.h"
#include "skydns/doh/doh.h"
#include "skydns/engine/engine.h"
#include "skydns/engine/namespace_rate.h"
#include "skydns/engine/rate_limit.h"
#include "skydns/listen/listen_socket.h"
#include "skydns/listen/passed_sockets.h"
#include "skydns/publish/engine_config.h"
#include "skydns/publish/publisher.h"
#include "skydns/resolver/resolver.h"
#include "skydns/streams/plain_tcp.h"
#include "skydns/streams/streams.h"
#include "skydns/streams/tcp_server.h"
#include "skydns/tap/client_counts.h"
#include "skydns/tap/query_tap.h"
#include "skydns/transfer/transfers.h"
#include "skydns/udp/udp_server.h"
#include "skydns/udp/worker.h"
#include "skydns/watch/watch_page.h"

/* Threads that answer beside the workers, and come before them in lists. */
enum { THREAD_RESOLVER, THREAD_STREAMS, THREADS_BESIDE };

struct lane {
    struct udp_server *udp;
    struct engine *engine;
    struct worker *worker; /* NULL: not started */
};

/* Address that is answered on. */
struct heard {
    enum engine_transport transport;
    struct addr address;
};

struct answering {
    struct options options;
    struct publisher *publisher;
    struct tls_server *tls; /* borrowed; NULL: no certificate */
    struct descriptor_shares descriptors;
    struct listen_sockets sockets;       /* those not passed on yet */
    const struct passed_sockets *passed; /* while opening: by another process; NULL: none */
    struct passed_sockets offered;       /* to another process; borrowed */
    bool is_stopped;
    struct heard heard[LISTEN_PASSED_MAX];
    size_t heard_count;
    bool is_heard[ENGINE_TRANSPORTS];
    struct engine *resolver_engine;
    struct engine *pool_engines[1 + POOL_THREADS_MAX]; /* the walker's and the signers' */
    unsigned pool_engine_count;
    struct resolver *resolver;
    struct plain_tcp *plain_tcp;
    struct engine *stream_engine;
    struct streams *streams;     /* NULL: no such address */
    struct transfers *transfers; /* NULL: not with this -schema or -pods */
    void (*wake)(void *data);    /* transfers_config.wake */
    void *data;
    struct rate_limit *rate_limit;
    struct namespace_rate *namespace_rate;
    struct query_tap tap; /* of all threads */
    struct name_samples *samples;
    struct name_samples *missing; /* NULL: without pages */
    struct dnstap *dnstap;        /* NULL: none */
    size_t client_count;          /* 0: no pages, so that clients are not counted */
    struct client_counts *clients[OPTIONS_WORKERS_MAX + THREADS_BESIDE]; /* of each thread */
    unsigned lane_count;
    struct lane lanes[OPTIONS_WORKERS_MAX];
    struct worker *workers[OPTIONS_WORKERS_MAX]; /* of all lanes, for the metrics */
};

/* ---- Sockets ---- */

static void note_heard(struct answering *a, const struct listen_socket *sockets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        a->heard[a->heard_count++] = (struct heard){sockets[i].transport, sockets[i].address};
        a->is_heard[sockets[i].transport] = true;
    }
}

/* Checks the sockets that systemd passed; those of -addr have been checked. */
static int answering_check_certificate(const struct answering *a, struct err *err)
{
    bool needs_one = a->is_heard[ENGINE_TLS] || a->is_heard[ENGINE_HTTPS];
    if (needs_one && !a->tls) {
        return err_set(err, ERR_USAGE,
                       "flag -systemd: a socket named `%s` was passed: expected -cert and -key "
                       "with it",
                       listen_transport_name(a->is_heard[ENGINE_TLS] ? ENGINE_TLS : ENGINE_HTTPS));
    }
    if (a->tls && !needs_one && !a->is_heard[ENGINE_GRPC]) {
        log_warn("no address speaks TLS, so the certificate is not used; expected tls://, "
                 "https:// or grpc:// in -addr",
                 LOG_STR("file", a->options.cert));
    }
    return 0;
}

/* Lists those that another process may take over. Theirs is the descriptor until the end. */
static void offer_streams(struct answering *a, const struct listen_socket *sockets, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        passed_sockets_add(&a->offered, passed_code(sockets[i].transport), sockets[i].fd,
                           &sockets[i].address);
    }
}

static int open_sockets(struct answering *a, struct err *err)
{
    int r = answering_sockets_open(&a->options, a->passed, &a->sockets, &a->options.workers, err);
    note_heard(a, a->sockets.udp, a->sockets.udp_count);
    note_heard(a, a->sockets.tcp, a->sockets.tcp_count);
    note_heard(a, a->sockets.streams, a->sockets.stream_count);
    offer_streams(a, a->sockets.tcp, a->sockets.tcp_count);
    offer_streams(a, a->sockets.streams, a->sockets.stream_count);
    return r == 0 ? answering_check_certificate(a, err) : r;
}

/* ---- Clients ---- */

static void answering_open_clients(struct answering *a)
{
    if (options_have_pages(&a->options)) {
        a->client_count = THREADS_BESIDE + a->lane_count;
        for (size_t i = 0; i < a->client_count; i++) {
            a->clients[i] = client_counts_new();
        }
        answering_set_domain(a, &a->options.domains[0]);
    }
}

struct client_counts *const *answering_clients(const struct answering *answering, size_t *ret_count)
{
    *ret_count = answering->client_count;
    return answering->clients;
}

void answering_set_domain(struct answering *answering, const struct dname *domain)
{
    for (size_t i = 0; i < answering->client_count; i++) {
        client_counts_set_domain(answering->clients[i], domain->len);
    }
}

/* ---- The resolver ---- */

static struct answer_lane pool_lane(struct answering *a)
{
    struct engine *engine = engine_new(publisher_newest_config(a->publisher));
    a->pool_engines[a->pool_engine_count++] = engine;
    return (struct answer_lane){engine, publisher_reader_new(a->publisher)};
}

static int open_resolver(struct answering *a, struct err *err)
{
    a->resolver_engine = engine_new(publisher_newest_config(a->publisher));
    struct resolver_config config = {
        .random_case = a->options.random_case,
        .sockets_max = a->descriptors.nameservers,
        .nameservers_tls = a->options.nameservers_tls,
        .cache_tally = publisher_newest_config(a->publisher)->cache_tally,
        .stale_wait_ms = RESOLVER_STALE_WAIT_MS,
        .recursion = &a->options.recursion,
        .engine = a->resolver_engine,
        .reader = publisher_reader_new(a->publisher),
        .walker = pool_lane(a),
        .signer_count = a->options.signers,
        .pool_answer_ms = POOL_ANSWER_MS,
        .pool_wait_ms = POOL_WAIT_MS,
        .workers = a->lane_count,
        .tap = &a->tap,
        .clients = a->clients[THREAD_RESOLVER],
        .dnstap = a->dnstap,
        .want_skydns_metrics = a->options.prometheus_port != 0,
    };
    for (unsigned i = 0; i < config.signer_count; i++) {
        config.signers[i] = pool_lane(a);
    }
    int r = resolver_new(&config, &a->resolver, err);
    if (r == 0) {
        answering_set_nameservers(a, &a->options);
    }
    return r;
}

static int open_plain_tcp(struct answering *a, struct err *err)
{
    const struct plain_tcp_config config = {
        .sockets = a->sockets.tcp,
        .socket_count = a->sockets.tcp_count,
        .connections_max = a->descriptors.connections,
        .resolver = a->resolver,
        .transfers = a->transfers,
        .namespace_rate = a->namespace_rate,
    };
    int r = plain_tcp_new(&config, &a->plain_tcp, err);
    if (r == 0) {
        a->sockets.tcp_count = 0; /* passed on */
    }
    return r;
}

/* ---- Transfers ---- */

/* Sends a message from the transfers' thread. */
static void answering_send_part(void *data, struct transfer_part *part)
{
    const struct answering *a = data;
    switch (part->origin.transport) {
    case ENGINE_TCP:
        plain_tcp_send_part(a->plain_tcp, part);
        return;
    case ENGINE_TLS:
        streams_send_part(a->streams, part);
        return;
    case ENGINE_UDP: /* lost as on any network: the client asks again */
        (void)!udp_server_send_one(part->origin.udp, &part->client, &part->local, part->bytes,
                                   part->len);
        break;
    case ENGINE_HTTPS:
    case ENGINE_HTTP:
    case ENGINE_GRPC:
    case ENGINE_TRANSPORTS:
        break;
    }
    free(part);
}

static void wake_main(void *data)
{
    const struct answering *a = data;
    a->wake(a->data);
}

/* Chooses the address that NOTIFY comes from. Secondaries expect it from where they ask: the first
 * address of its family that is one. */
static void choose_notify_source(const struct answering *a, struct addr ret_from[2])
{
    for (size_t i = 0; i < a->heard_count; i++) {
        const struct addr *address = &a->heard[i].address;
        struct addr *from = &ret_from[address->sa.sa_family == AF_INET6];
        if (from->len == 0 && !addr_is_wildcard(address)) {
            const struct ip ip = addr_ip(address);
            *from = addr_of_ip(&ip, 0);
        }
    }
}

static int open_transfers(struct answering *a, struct err *err)
{
    if (a->options.engine.schema != ENGINE_SCHEMA_KUBERNETES ||
        a->options.engine.pods == ENGINE_PODS_INSECURE || !a->wake) {
        return 0;
    }
    struct transfers_config config = {.send = answering_send_part,
                                      .wake = wake_main,
                                      .data = a,
                                      .udp_max = a->options.engine.max_udp_size};
    choose_notify_source(a, config.notify_from);
    return transfers_new(&config, &a->transfers, err);
}

/* ---- Streams ---- */

static struct stream_kind stream_kind(const struct answering *a, enum engine_transport transport)
{
    switch (transport) {
    case ENGINE_TLS:
        return (struct stream_kind){.tls = a->tls, .alpn = "dot"};
    case ENGINE_HTTPS:
        return (struct stream_kind){
            .protocol = &doh_protocol, .tls = a->tls, .alpn = "h2 http/1.1"};
    case ENGINE_HTTP:
        return (struct stream_kind){.protocol = &doh_protocol};
    case ENGINE_GRPC:
        return (struct stream_kind){.protocol = &dnsgrpc_protocol, .tls = a->tls, .alpn = "h2"};
    case ENGINE_UDP:
    case ENGINE_TCP:
    case ENGINE_TRANSPORTS:
        break;
    }
    return (struct stream_kind){0};
}

static int open_streams(struct answering *a, struct err *err)
{
    if (a->sockets.stream_count == 0) {
        return 0;
    }
    a->stream_engine = engine_new(publisher_newest_config(a->publisher));
    struct streams_config config = {
        .sockets = a->sockets.streams,
        .socket_count = a->sockets.stream_count,
        .connections_max = a->descriptors.streams,
        .handshake_threads = a->options.handshake_threads,
        .engine = a->stream_engine,
        .reader = publisher_reader_new(a->publisher),
        .resolver = a->resolver,
        .transfers = a->transfers,
        .namespace_rate = a->namespace_rate,
        .tap = &a->tap,
        .clients = a->clients[THREAD_STREAMS],
        .want_skydns_metrics = a->options.prometheus_port != 0,
    };
    for (int i = ENGINE_TLS; i < ENGINE_TRANSPORTS; i++) {
        config.kinds[i] = stream_kind(a, (enum engine_transport)i);
    }
    int r = streams_new(&config, &a->streams, err);
    if (r == 0) {
        a->sockets.stream_count = 0; /* passed on */
    }
    return r;
}

/* ---- The lanes ---- */

static int open_lanes(struct answering *a, struct err *err)
{
    for (unsigned i = 0; i < a->lane_count; i++) {
        struct listen_socket socket;
        bool is_own;
        /* Backwards: the others share the first one's, which it takes. */
        unsigned worker = a->options.workers - 1 - i % a->options.workers;
        int r = answering_sockets_of_worker(&a->options, a->passed,
                                            &a->sockets.udp[i / a->options.workers], worker,
                                            &socket, &is_own, err);
        const struct udp_server_config config = {.socket = &socket,
                                                 .reply_max = a->options.engine.max_udp_size};
        if (r == 0) {
            r = udp_server_new(&config, &a->lanes[i].udp, err);
        }
        if (r < 0) {
            return r;
        }
        a->lanes[i].engine = engine_new(publisher_newest_config(a->publisher));
        if (is_own) {
            passed_sockets_add(&a->offered, passed_code(ENGINE_UDP), udp_server_fd(a->lanes[i].udp),
                               &socket.address);
        }
    }
    size_t granted =
        a->lane_count ? udp_server_receive_buffer(a->lanes[0].udp) : UDP_RECEIVE_BUFFER;
    if (granted < UDP_RECEIVE_BUFFER) {
        log_warn("small UDP receive buffer, bursts may be lost; raise net.core.rmem_max",
                 LOG_INT("bytes", (int64_t)granted), LOG_INT("wanted", UDP_RECEIVE_BUFFER));
    }
    return 0;
}

static void share_descriptors(struct answering *a)
{
    const struct descriptor_wants wants = {
        .most = {.connections = TCP_CONNECTIONS_MAX,
                 .streams = a->sockets.stream_count > 0 ? TCP_CONNECTIONS_MAX : 0,
                 .nameservers = FORWARDER_SOCKETS_MAX},
        .handshakes = TCP_HANDSHAKES_MAX,
        .pages = a->options.has_http ? WATCH_STREAMS_MAX + 2 * HTTP_WAITERS_MAX : 0,
    };
    a->descriptors = descriptor_limit_raise(&wants);
}

/* ---- Lifecycle ---- */

int answering_open(const struct options *options, struct publisher *publisher,
                   struct tls_server *tls, const struct answering_wake *wake,
                   const struct passed_sockets *passed, struct answering **ret_answering,
                   struct err *err)
{
    static int (*const parts[])(struct answering * a, struct err * err) = {
        open_transfers, open_resolver, open_plain_tcp, open_streams, open_lanes};
    struct answering *a = xcalloc(1, sizeof(*a));
    a->passed = passed;
    a->options = *options;
    a->publisher = publisher;
    a->tls = tls;
    a->wake = wake ? wake->fn : NULL;
    a->data = wake ? wake->data : NULL;
    a->rate_limit = rate_limit_new();
    a->namespace_rate = namespace_rate_new();
    int r = options->dnstap.is_set ? dnstap_new(&options->dnstap, &a->dnstap, err) : 0;
    a->samples = name_samples_new(NAME_SAMPLES_MAX);
    a->missing = options->has_http ? name_samples_new(MISSING_SAMPLES_MAX) : NULL;
    query_tap_init(&a->tap, a->samples, a->missing, a->dnstap);
    query_tap_set_log(&a->tap, options->query_log);
    if (r == 0) {
        r = open_sockets(a, err);
    }
    if (r == 0) {
        a->lane_count = (unsigned)a->sockets.udp_count * a->options.workers;
        share_descriptors(a);
        answering_open_clients(a);
    }
    for (size_t i = 0; i < ARRAY_LEN(parts) && r == 0; i++) {
        r = parts[i](a, err);
    }
    a->passed = NULL;
    if (r < 0) {
        answering_free(a);
        return r;
    }
    *ret_answering = a;
    return 0;
}

/* Blocks signals in the threads started here: they go to the main thread. */
int answering_start(struct answering *answering, struct err *err)
{
    struct answering *a = answering;
    sigset_t all, before;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail with these arguments */
    int r = a->dnstap ? dnstap_start(a->dnstap, err) : 0;
    if (r == 0) {
        r = resolver_start(a->resolver, err);
    }
    for (unsigned i = 0; i < a->lane_count && r == 0; i++) {
        const struct worker_config config = {
            .index = i,
            .udp = a->lanes[i].udp,
            .engine = a->lanes[i].engine,
            .reader = publisher_reader_new(a->publisher),
            .resolver = a->resolver,
            .transfers = a->transfers,
            .rate_limit = a->rate_limit,
            .namespace_rate = a->namespace_rate,
            .tap = &a->tap,
            .clients = a->clients[THREADS_BESIDE + i],
            .want_skydns_metrics = a->options.prometheus_port != 0,
        };
        r = worker_start(&config, &a->lanes[i].worker, err);
        a->workers[i] = a->lanes[i].worker;
    }
    if (r == 0 && a->transfers) {
        r = transfers_start(a->transfers, err);
    }
    if (r == 0 && a->streams) {
        r = streams_start(a->streams, err);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* the same */
    return r;
}

static void stop_workers(struct answering *a, struct query_sums *sums)
{
    for (unsigned i = 0; i < a->lane_count; i++) {
        udp_server_stop(a->lanes[i].udp);
    }
    for (unsigned i = 0; i < a->lane_count; i++) {
        if (a->lanes[i].worker) {
            worker_join(a->lanes[i].worker);
            worker_sums_add(a->lanes[i].worker, sums);
        }
    }
}

static void log_streams(const struct streams *streams)
{
    const struct streams_counts *counts = streams_counts(streams);
    struct query_sums sums[ENGINE_TRANSPORTS] = {0};
    for (int i = ENGINE_TLS; i < ENGINE_TRANSPORTS; i++) {
        query_sums_add(&sums[i], &counts->queries[i]);
    }
    log_info("streams stopped", LOG_INT("tls_queries", (int64_t)sums[ENGINE_TLS].queries),
             LOG_INT("https_queries", (int64_t)sums[ENGINE_HTTPS].queries),
             LOG_INT("http_queries", (int64_t)sums[ENGINE_HTTP].queries),
             LOG_INT("grpc_queries", (int64_t)sums[ENGINE_GRPC].queries),
             LOG_INT("handshakes", (int64_t)counter_get(&counts->handshakes_full)),
             LOG_INT("resumed", (int64_t)counter_get(&counts->handshakes_resumed)),
             LOG_INT("failed", (int64_t)counter_get(&counts->handshakes_failed)));
}

const struct passed_sockets *answering_offer(const struct answering *answering)
{
    return &answering->offered;
}

void answering_leave(struct answering *answering, uint32_t idle_ms)
{
    struct answering *a = answering;
    for (unsigned i = 0; i < a->lane_count; i++) {
        udp_server_stop(a->lanes[i].udp);
    }
    plain_tcp_leave(a->plain_tcp, idle_ms);
    if (a->streams) {
        streams_leave(a->streams, idle_ms);
    }
}

uint64_t answering_connections(const struct answering *answering)
{
    uint64_t count = counter_get(&resolver_counts(answering->resolver)->connections);
    for (int i = ENGINE_TLS; answering->streams && i < ENGINE_TRANSPORTS; i++) {
        count += counter_get(&streams_counts(answering->streams)->connections[i]);
    }
    return count;
}

/* Stops the workers and streams before the resolver to which they pass queries. */
void answering_stop(struct answering *answering)
{
    struct answering *a = answering;
    const struct resolver_counts *late = resolver_counts(a->resolver);
    struct query_sums counts = {0}, tcp = {0};
    if (a->is_stopped) {
        return;
    }
    a->is_stopped = true;
    stop_workers(a, &counts);
    if (a->streams) {
        streams_stop(a->streams);
        log_streams(a->streams);
    }
    plain_tcp_stop(a->plain_tcp);
    resolver_stop(a->resolver);
    if (a->transfers) {
        transfers_stop(a->transfers);
    }
    if (a->dnstap) {
        dnstap_stop(a->dnstap, DNSTAP_STOP_MS);
    }
    for (unsigned i = 0; i < a->lane_count; i++) {
        udp_server_close(a->lanes[i].udp);
    }
    query_sums_add(&tcp, &late->tcp);
    log_info("stopped", LOG_INT("udp_queries", (int64_t)counts.queries),
             LOG_INT("answered", (int64_t)counts.answered),
             LOG_INT("deferred", (int64_t)counts.deferred),
             LOG_INT("refused", (int64_t)counts.refused),
             LOG_INT("unsent", (int64_t)(counts.unsent + counter_get(&late->udp.unsent))),
             LOG_INT("tcp_queries", (int64_t)tcp.queries));
}

void answering_free(struct answering *answering)
{
    struct answering *a = answering;
    if (!a) {
        return;
    }
    transfers_free(a->transfers);
    plain_tcp_free(a->plain_tcp);
    resolver_free(a->resolver);
    streams_free(a->streams);
    engine_free(a->stream_engine);
    engine_free(a->resolver_engine);
    for (unsigned i = 0; i < a->pool_engine_count; i++) {
        engine_free(a->pool_engines[i]);
    }
    for (unsigned i = 0; i < a->lane_count; i++) {
        worker_free(a->lanes[i].worker);
        udp_server_free(a->lanes[i].udp);
        engine_free(a->lanes[i].engine);
    }
    for (size_t i = 0; i < a->client_count; i++) {
        client_counts_free(a->clients[i]);
    }
    dnstap_free(a->dnstap);
    name_samples_free(a->samples);
    name_samples_free(a->missing);
    rate_limit_free(a->rate_limit);
    namespace_rate_free(a->namespace_rate);
    listen_sockets_close(&a->sockets);
    free(a);
}

void answering_set_nameservers(struct answering *answering, const struct options *now)
{
    const struct forwarder_rules rules = {.rotate = now->ns_rotate, .timeout_ms = now->rtimeout_ms};
    resolver_set_rules(answering->resolver, &rules);
}

struct query_tap *answering_tap(struct answering *answering)
{
    return &answering->tap;
}

const struct dnstap *answering_dnstap(const struct answering *answering)
{
    return answering->dnstap;
}

void answering_set_query_log(struct answering *answering, struct query_log_rule rule)
{
    query_tap_set_log(&answering->tap, rule);
}

void answering_addresses(const struct answering *answering, struct buf *out)
{
    char text[ADDR_TEXT_MAX];
    for (size_t i = 0; i < answering->heard_count; i++) {
        const struct heard *heard = &answering->heard[i];
        buf_printf(out, "%s%s://%s", out->len ? " " : "", listen_transport_name(heard->transport),
                   addr_format(&heard->address, text));
    }
}

static void log_heard(const char *domain, const struct heard *heard, const char *signing)
{
    char text[ADDR_TEXT_MAX], line[DNAME_TEXT_MAX + ADDR_TEXT_MAX + OPTIONS_DNSSEC_MAX + 128];
    (void)snprintf(line, sizeof(line), "skydns: ready for queries on %s for %s://%s%s", domain,
                   listen_transport_name(heard->transport), addr_format(&heard->address, text),
                   signing); /* always fits */
    log_info(line);
}

/* Names TCP first, as SkyDNS did. */
void answering_log_ready(const struct answering *answering, const struct dname *domain,
                         const char *keys, uint32_t signatures_max)
{
    static const enum engine_transport order[] = {ENGINE_TCP,   ENGINE_UDP,  ENGINE_TLS,
                                                  ENGINE_HTTPS, ENGINE_HTTP, ENGINE_GRPC};
    char text[DNAME_TEXT_MAX], signing[OPTIONS_DNSSEC_MAX + 64];
    (void)snprintf(signing, sizeof(signing), ", signing with %s [scache %u]", keys,
                   signatures_max); /* fits */
    (void)dname_to_text(domain, text);
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        for (size_t k = 0; k < answering->heard_count; k++) {
            if (answering->heard[k].transport == order[i]) {
                log_heard(text, &answering->heard[k], *keys ? signing : "");
            }
        }
    }
}

struct metrics_streams answering_streams(const struct answering *answering)
{
    const struct answering *a = answering;
    return (struct metrics_streams){
        .counts = a->streams ? streams_counts(a->streams) : NULL,
        .is_heard = a->is_heard,
    };
}

const struct rate_limit *answering_rate_limit(const struct answering *answering)
{
    return answering->rate_limit;
}

const struct namespace_rate *answering_namespace_rate(const struct answering *answering)
{
    return answering->namespace_rate;
}

struct resolver *answering_resolver(const struct answering *answering)
{
    return answering->resolver;
}

struct worker *const *answering_workers(const struct answering *answering, unsigned *ret_count)
{
    *ret_count = answering->lane_count;
    return answering->workers;
}

struct transfers *answering_transfers(const struct answering *answering)
{
    return answering->transfers;
}
