#include "skydns/answering.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "skydns/answer/engine.h"
#include "skydns/descriptor_limit.h"
#include "skydns/serve/listen_socket.h"
#include "skydns/serve/rate_limit.h"
#include "skydns/serve/resolver.h"
#include "skydns/serve/udp_server.h"
#include "skydns/serve/walker.h"
#include "skydns/serve/worker.h"
#include "skydns/store/engine_config.h"
#include "skydns/store/publisher.h"

struct lane {
    struct udp_server *udp;
    struct engine *engine;
    struct worker *worker; /* NULL: not started */
};

struct answering {
    struct options options;
    struct publisher *publisher;
    struct listen_sockets sockets; /* those not handed over yet */
    struct addr udp_addresses[LISTEN_SOCKETS_MAX];
    struct addr tcp_addresses[LISTEN_SOCKETS_MAX];
    size_t udp_count, tcp_count;
    struct engine *resolver_engine;
    struct engine *walk_engine;
    struct resolver *resolver;
    struct rate_limit *rate_limit;
    unsigned lane_count;
    struct lane lanes[OPTIONS_WORKERS_MAX];
    struct worker *workers[OPTIONS_WORKERS_MAX]; /* of all lanes, for the metrics */
};

/* ---- Sockets ---- */

/* TCP first: TCP addresses are not shared, so a second skydns on one of them fails here. */
static int bind_addresses(struct answering *a, struct err *err)
{
    const struct options *o = &a->options;
    int r = 0;
    for (size_t i = 0; i < o->address_count && r == 0; i++) {
        const struct addr *address = &o->addresses[i];
        bool v6_only = listen_wants_v6_only(o->addresses, o->address_count, address);
        r = listen_tcp(address, v6_only, &a->sockets.tcp[a->sockets.tcp_count], err);
        a->sockets.tcp_count += r == 0;
    }
    for (size_t i = 0; i < o->address_count && r == 0; i++) {
        const struct addr *address = &o->addresses[i];
        bool v6_only = listen_wants_v6_only(o->addresses, o->address_count, address);
        r = listen_udp(address, v6_only, &a->sockets.udp[a->sockets.udp_count], err);
        a->sockets.udp_count += r == 0;
    }
    return r;
}

static int open_sockets(struct answering *a, struct err *err)
{
    int r = a->options.systemd ? listen_from_systemd(&a->sockets, err) : bind_addresses(a, err);
    if (r == 0 && a->sockets.udp_count * a->options.workers > OPTIONS_WORKERS_MAX) {
        a->options.workers = OPTIONS_WORKERS_MAX / (unsigned)a->sockets.udp_count;
        log_warn("fewer workers per address than requested", LOG_INT("workers", a->options.workers),
                 LOG_INT("addresses", (int64_t)a->sockets.udp_count),
                 LOG_INT("altogether_at_most", OPTIONS_WORKERS_MAX));
    }
    for (size_t i = 0; i < a->sockets.udp_count; i++) {
        a->udp_addresses[a->udp_count++] = a->sockets.udp[i].address;
    }
    for (size_t i = 0; i < a->sockets.tcp_count; i++) {
        a->tcp_addresses[a->tcp_count++] = a->sockets.tcp[i].address;
    }
    return r;
}

/* ---- The resolver ---- */

static int open_resolver(struct answering *a, struct err *err)
{
    struct descriptor_shares descriptors = descriptor_limit_raise();
    a->resolver_engine = engine_new(publisher_newest_config(a->publisher));
    a->walk_engine = engine_new(publisher_newest_config(a->publisher));
    const struct resolver_config config = {
        .sockets = a->sockets.tcp,
        .socket_count = a->sockets.tcp_count,
        .connections_max = descriptors.connections,
        .random_case = a->options.random_case,
        .sockets_max = descriptors.nameservers,
        .cache_tally = publisher_newest_config(a->publisher)->cache_tally,
        .stale_wait_ms = RESOLVER_STALE_WAIT_MS,
        .recursion = &a->options.recursion,
        .engine = a->resolver_engine,
        .reader = publisher_reader_new(a->publisher),
        .walk_engine = a->walk_engine,
        .walk_reader = publisher_reader_new(a->publisher),
        .walk_ms = WALK_MS,
        .walk_wait_ms = WALK_WAIT_MS,
        .workers = a->lane_count,
        .verbose = a->options.verbose,
        .want_skydns_metrics = a->options.prometheus_port != 0,
    };
    int r = resolver_new(&config, &a->resolver, err);
    if (r == 0) {
        a->sockets.tcp_count = 0; /* handed over */
        answering_set_nameservers(a, &a->options);
    }
    return r;
}

/* ---- The lanes ---- */

/* The first worker of an address gets its socket; the others open sockets of their own at the same
 * address or, if systemd passed it, share that socket. */
static int socket_of(struct answering *a, unsigned lane, struct listen_socket *ret_socket,
                     struct err *err)
{
    struct listen_socket *first = &a->sockets.udp[lane / a->options.workers];
    const struct options *o = &a->options;
    if (lane % o->workers == o->workers - 1) { /* the last user */
        *ret_socket = *first;
        first->fd = -1;
        return 0;
    }
    if (!first->is_shared) {
        bool v6_only = listen_wants_v6_only(o->addresses, o->address_count, &first->address);
        return listen_udp(&first->address, v6_only, ret_socket, err);
    }
    *ret_socket = *first;
    ret_socket->fd = fcntl(first->fd, F_DUPFD_CLOEXEC, 0);
    return ret_socket->fd < 0 ? err_set(err, -errno, "share a socket: %s", err_code_text(-errno))
                              : 0;
}

static int open_lanes(struct answering *a, struct err *err)
{
    for (unsigned i = 0; i < a->lane_count; i++) {
        struct listen_socket socket;
        int r = socket_of(a, i, &socket, err);
        const struct udp_server_config config = {.socket = &socket,
                                                 .reply_max = a->options.max_udp_size};
        if (r == 0) {
            r = udp_server_new(&config, &a->lanes[i].udp, err);
        }
        if (r < 0) {
            return r;
        }
        a->lanes[i].engine = engine_new(publisher_newest_config(a->publisher));
    }
    size_t granted =
        a->lane_count ? udp_server_receive_buffer(a->lanes[0].udp) : UDP_RECEIVE_BUFFER;
    if (granted < UDP_RECEIVE_BUFFER) {
        log_warn("small UDP receive buffer, bursts may be lost; raise net.core.rmem_max",
                 LOG_INT("bytes", (int64_t)granted), LOG_INT("wanted", UDP_RECEIVE_BUFFER));
    }
    return 0;
}

/* ---- Lifecycle ---- */

int answering_open(const struct options *options, struct publisher *publisher,
                   struct answering **ret_answering, struct err *err)
{
    struct answering *a = xcalloc(1, sizeof(*a));
    a->options = *options;
    a->publisher = publisher;
    a->rate_limit = rate_limit_new();
    int r = open_sockets(a, err);
    if (r == 0) {
        a->lane_count = (unsigned)a->sockets.udp_count * a->options.workers;
        r = open_resolver(a, err);
    }
    if (r == 0) {
        r = open_lanes(a, err);
    }
    if (r < 0) {
        answering_free(a);
        return r;
    }
    *ret_answering = a;
    return 0;
}

/* Signals go to the main thread: threads started here block them. */
int answering_start(struct answering *answering, struct err *err)
{
    struct answering *a = answering;
    sigset_t all, before;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* cannot fail with these arguments */
    int r = resolver_start(a->resolver, err);
    for (unsigned i = 0; i < a->lane_count && r == 0; i++) {
        const struct worker_config config = {
            .index = i,
            .udp = a->lanes[i].udp,
            .engine = a->lanes[i].engine,
            .reader = publisher_reader_new(a->publisher),
            .resolver = a->resolver,
            .rate_limit = a->rate_limit,
            .verbose = a->options.verbose,
            .want_skydns_metrics = a->options.prometheus_port != 0,
        };
        r = worker_start(&config, &a->lanes[i].worker, err);
        a->workers[i] = a->lanes[i].worker;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* the same */
    return r;
}

/* The workers stop before the resolver to which they pass queries. */
void answering_stop(struct answering *answering)
{
    struct answering *a = answering;
    const struct resolver_counts *late = resolver_counts(a->resolver);
    struct query_sums counts = {0}, tcp = {0};
    for (unsigned i = 0; i < a->lane_count; i++) {
        udp_server_stop(a->lanes[i].udp);
    }
    for (unsigned i = 0; i < a->lane_count; i++) {
        if (a->lanes[i].worker) {
            worker_join(a->lanes[i].worker);
            worker_sums_add(a->lanes[i].worker, &counts);
        }
    }
    resolver_stop(a->resolver);
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
    resolver_free(a->resolver);
    engine_free(a->resolver_engine);
    engine_free(a->walk_engine);
    for (unsigned i = 0; i < a->lane_count; i++) {
        worker_free(a->lanes[i].worker);
        udp_server_free(a->lanes[i].udp);
        engine_free(a->lanes[i].engine);
    }
    rate_limit_free(a->rate_limit);
    listen_sockets_close(&a->sockets);
    free(a);
}

void answering_set_nameservers(struct answering *answering, const struct options *now)
{
    const struct forwarder_rules rules = {.rotate = now->ns_rotate, .timeout_ms = now->rtimeout_ms};
    resolver_set_rules(answering->resolver, &rules);
}

static void write_addresses(const char *transport, const struct addr *addresses, size_t count,
                            struct buf *out)
{
    char text[ADDR_TEXT_MAX];
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, "%s%s://%s", out->len ? " " : "", transport,
                   addr_format(&addresses[i], text));
    }
}

void answering_addresses(const struct answering *answering, struct buf *out)
{
    write_addresses("udp", answering->udp_addresses, answering->udp_count, out);
    write_addresses("tcp", answering->tcp_addresses, answering->tcp_count, out);
}

static void log_address(const char *domain, const char *transport, const struct addr *address)
{
    char text[ADDR_TEXT_MAX], line[DNAME_TEXT_MAX + ADDR_TEXT_MAX + 64];
    (void)snprintf(line, sizeof(line), "skydns: ready for queries on %s for %s://%s", domain,
                   transport, addr_format(address, text)); /* always fits */
    log_info(line);
}

void answering_log_ready(const struct answering *answering, const struct dname *domain)
{
    char text[DNAME_TEXT_MAX];
    (void)dname_to_text(domain, text);
    for (size_t i = 0; i < answering->tcp_count; i++) {
        log_address(text, "tcp", &answering->tcp_addresses[i]);
    }
    for (size_t i = 0; i < answering->udp_count; i++) {
        log_address(text, "udp", &answering->udp_addresses[i]);
    }
}

const struct resolver *answering_resolver(const struct answering *answering)
{
    return answering->resolver;
}

struct worker *const *answering_workers(const struct answering *answering, unsigned *ret_count)
{
    *ret_count = answering->lane_count;
    return answering->workers;
}
