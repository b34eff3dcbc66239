#include "skydns/streams/plain_tcp.h"

#include <ev.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"
#include "skydns/resolver/resolver.h"
#include "skydns/streams/tcp_answers_internal.h"
#include "skydns/streams/tcp_server.h"

struct plain_tcp {
    struct resolver *resolver;
    struct ev_loop *loop; /* the resolver's */
    struct tcp_server *server;
    bool is_draining;
    struct tcp_answers answers;
    struct transfer_inbox parts; /* of zone transfers */
    ev_async stop;
    ev_async leave;
    _Atomic uint32_t leaving_idle_ms;
    ev_prepare prepare;
};

static bool plain_tcp_send_late(void *data, const struct deferred *deferred,
                                const struct response *response)
{
    struct plain_tcp *tcp = data;
    return tcp_answers_late(&tcp->answers, &deferred->origin, response);
}

static bool has_client(void *data, const struct deferred *deferred)
{
    const struct plain_tcp *tcp = data;
    return tcp_server_has(tcp->server, deferred->origin.tcp);
}

/* Runs before the resolver ends its turn, which looks at what this notes. */
static void plain_tcp_on_prepare(struct ev_loop *loop UNUSED, ev_prepare *prepare,
                                 int revents UNUSED)
{
    struct plain_tcp *tcp = prepare->data;
    tcp_answers_end_turn(&tcp->answers);
    resolver_note_connections(tcp->resolver, tcp_server_connections(tcp->server), !tcp->is_draining,
                              tcp_server_evictions(tcp->server));
}

static void plain_tcp_on_stop(struct ev_loop *loop UNUSED, ev_async *stop, int revents UNUSED)
{
    struct plain_tcp *tcp = stop->data;
    tcp->is_draining = true;
    tcp_server_drain(tcp->server);
}

static void plain_tcp_on_leave(struct ev_loop *loop UNUSED, ev_async *leave, int revents UNUSED)
{
    struct plain_tcp *tcp = leave->data;
    tcp->answers.idle_ms = 0;
    tcp_server_leave(tcp->server, atomic_load(&tcp->leaving_idle_ms));
}

static void plain_tcp_start_watchers(struct plain_tcp *tcp)
{
    ev_async_init(&tcp->stop, plain_tcp_on_stop);
    tcp->stop.data = tcp;
    ev_async_start(tcp->loop, &tcp->stop);
    ev_async_init(&tcp->leave, plain_tcp_on_leave);
    tcp->leave.data = tcp;
    ev_async_start(tcp->loop, &tcp->leave);
    ev_prepare_init(&tcp->prepare, plain_tcp_on_prepare);
    ev_set_priority(&tcp->prepare, EV_MAXPRI);
    tcp->prepare.data = tcp;
    ev_prepare_start(tcp->loop, &tcp->prepare);
}

static int open_server(struct plain_tcp *tcp, const struct plain_tcp_config *config,
                       struct err *err)
{
    const struct tcp_server_config server = {
        .loop = tcp->loop,
        .sockets = config->sockets,
        .socket_count = config->socket_count,
        .connections_max = config->connections_max,
        .buffers_max = TCP_BUFFERS_MAX,
        .idle_ms = TCP_IDLE_MS,
        .answer = tcp_answers_query,
        .is_limited = &resolver_turn(tcp->resolver)->has_namespace_rate,
        .admit = tcp_answers_admit,
        .look_ahead = tcp_answers_look_ahead,
        .part_left = tcp_answers_part_left,
        .data = &tcp->answers,
    };
    return tcp_server_new(&server, &tcp->server, err);
}

int plain_tcp_new(const struct plain_tcp_config *config, struct plain_tcp **ret_tcp,
                  struct err *err)
{
    struct plain_tcp *tcp = xcalloc(1, sizeof(*tcp));
    tcp->resolver = config->resolver;
    tcp->loop = resolver_loop(config->resolver);
    int r = open_server(tcp, config, err);
    if (r < 0) {
        free(tcp);
        return r;
    }
    tcp->answers = (struct tcp_answers){
        .turn = resolver_turn(config->resolver),
        .tcp = tcp->server,
        .transfers = &tcp->parts,
        .resolver = config->resolver,
        .producer = resolver_add_producer(config->resolver),
        .reply_to = {plain_tcp_send_late, tcp, has_client},
        .namespace_rate = config->namespace_rate,
        .late_max = SIZE_MAX, /* RESOLVER_IN_HAND_MAX */
    };
    transfer_inbox_init(&tcp->parts, tcp->loop, tcp->server, config->transfers);
    plain_tcp_start_watchers(tcp);
    *ret_tcp = tcp;
    return 0;
}

void plain_tcp_send_part(struct plain_tcp *tcp, struct transfer_part *part)
{
    transfer_inbox_put(&tcp->parts, part);
}

void plain_tcp_leave(struct plain_tcp *tcp, uint32_t idle_ms)
{
    atomic_store(&tcp->leaving_idle_ms, idle_ms);
    ev_async_send(tcp->loop, &tcp->leave);
}

void plain_tcp_stop(struct plain_tcp *tcp)
{
    ev_async_send(tcp->loop, &tcp->stop);
}

void plain_tcp_free(struct plain_tcp *tcp)
{
    if (!tcp) {
        return;
    }
    tcp_server_free(tcp->server);
    transfer_inbox_fini(&tcp->parts);
    free(tcp);
}
