#include "skydns/upstream/exchange_channel_internal.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/fair_queue.h"
#include "common/dns/dname.h"
#include "skydns/upstream/forwarder_counts.h"

void exchange_channel_init(struct exchange_channel *channel,
                           const struct exchange_channel_config *config,
                           enum dnstap_protocol protocol,
                           void (*on_io)(struct ev_loop *, ev_io *, int), void *data)
{
    channel->config = *config;
    channel->protocol = protocol;
    ev_init(&channel->io, on_io);
    channel->io.fd = -1;
    channel->io.data = data;
}

/* ---- The socket ---- */

int exchange_channel_open(struct exchange_channel *channel)
{
    const struct addr *server = channel->config.server;
    const bool over_tcp = channel->protocol == DNSTAP_TCP;
    int type = (over_tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC;
    CLEANUP_CLOSE int fd = socket(server->sa.sa_family, type, 0);
    if (fd < 0) {
        return -errno;
    }
    if (connect(fd, &server->sa, server->len) < 0 && !(over_tcp && errno == EINPROGRESS)) {
        return -errno;
    }
    channel->io.fd = STEAL_FD(fd);
    return 0;
}

bool exchange_channel_is_open(const struct exchange_channel *channel)
{
    return channel->io.fd >= 0;
}

void exchange_channel_close(struct exchange_channel *channel)
{
    if (exchange_channel_is_open(channel)) {
        ev_io_stop(channel->config.loop, &channel->io);
        (void)close(channel->io.fd); /* unsent data does not matter */
        channel->io.fd = -1;
    }
}

void exchange_channel_watch(struct exchange_channel *channel, int events)
{
    ev_io_stop(channel->config.loop, &channel->io);
    ev_io_set(&channel->io, channel->io.fd, events);
    ev_io_start(channel->config.loop, &channel->io);
}

int exchange_channel_send(const struct exchange_channel *channel, struct slice query)
{
    ssize_t n = send(channel->io.fd, query.ptr, query.len, 0);
    return n == (ssize_t)query.len ? 0 : n < 0 ? -errno : -EMSGSIZE;
}

/* ---- dnstap ---- */

static void show_message(const struct exchange_channel *channel, enum dnstap_type type,
                         struct slice message)
{
    const struct exchange_channel_config *config = &channel->config;
    const struct dname *zone = config->zone;
    dnstap_show(config->dnstap,
                &(struct dnstap_event){
                    .type = type,
                    .protocol = channel->protocol,
                    .querier = &channel->local,
                    .answerer = config->server,
                    .query_ns = channel->asked_ns,
                    .response_ns = type == DNSTAP_FORWARDER_RESPONSE ? dnstap_now_ns() : 0,
                    .message = message,
                    .zone = zone ? slice_of(zone->wire, zone->len) : slice_of(NULL, 0),
                });
}

void exchange_channel_show_query(struct exchange_channel *channel, struct slice query)
{
    if (channel->config.dnstap) {
        channel->local.len = sizeof(channel->local);
        if (getsockname(channel->io.fd, &channel->local.sa, &channel->local.len) < 0) {
            channel->local = (struct addr){.len = 0};
        }
        channel->asked_ns = dnstap_now_ns();
        show_message(channel, DNSTAP_FORWARDER_QUERY, query);
    }
}

void exchange_channel_note_query(struct exchange_channel *channel)
{
    channel->asked_ns = channel->config.dnstap ? dnstap_now_ns() : 0;
}

void exchange_channel_show_noted(struct exchange_channel *channel, struct slice query)
{
    if (channel->asked_ns > 0) {
        show_message(channel, DNSTAP_FORWARDER_QUERY, query);
    }
}

void exchange_channel_show_reply(const struct exchange_channel *channel, struct slice reply)
{
    if (channel->config.dnstap) {
        show_message(channel, DNSTAP_FORWARDER_RESPONSE, reply);
    }
}

/* ---- Places for TCP ---- */

void tcp_places_init(struct tcp_places *places, struct forwarder_counts *counts)
{
    *places = (struct tcp_places){
        .counts = counts, .loads = client_loads_new(), .listening_loads = client_loads_new()};
}

void tcp_places_fini(struct tcp_places *places)
{
    client_loads_free(places->loads);
    client_loads_free(places->listening_loads);
}

bool tcp_places_take(struct tcp_places *places, struct tcp_zone *zone, const struct addr *client)
{
    struct forwarder_counts *counts = places->counts;
    const size_t left = TCP_PLACES_MAX - counter_get(&counts->tcp);
    const bool may_zone = !places->are_zones_many || zone->taken < left;
    if (!may_zone || !client_loads_take(places->loads, client, left)) {
        counter_add(&counts->tcp_refused, 1);
        return false;
    }
    zone->taken++;
    counter_add(&counts->tcp, 1);
    return true;
}

void tcp_places_return(struct tcp_places *places, struct tcp_zone *zone, const struct addr *client)
{
    zone->taken--;
    client_loads_drop(places->loads, client);
    counter_sub(&places->counts->tcp, 1);
}

bool tcp_places_listen(struct tcp_places *places, struct tcp_zone *zone, const struct addr *client)
{
    const size_t left = TCP_LISTENERS_MAX - places->listening;
    const bool may_zone = !places->are_zones_many || zone->listening < left;
    if (!may_zone || !client_loads_take(places->listening_loads, client, left)) {
        return false;
    }
    zone->listening++;
    places->listening++;
    return true;
}

void tcp_places_unlisten(struct tcp_places *places, struct tcp_zone *zone,
                         const struct addr *client)
{
    zone->listening--;
    places->listening--;
    client_loads_drop(places->listening_loads, client);
}
