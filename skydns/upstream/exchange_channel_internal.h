/* Opens an exchange's transport to its upstream, shows its messages to dnstap, and shares places
 * for TCP. A transport is a socket over UDP or TCP on the resolver's loop, or a question on a
 * connection of tls_pool.h, which has no socket here. For exchange.c, on its thread. */
#ifndef SKYDNS_UPSTREAM_EXCHANGE_CHANNEL_INTERNAL_H
#define SKYDNS_UPSTREAM_EXCHANGE_CHANNEL_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "skydns/dnstap/dnstap.h"

struct client_loads;
struct dname;
struct forwarder_counts;

/* The server, and the receiver of dnstap; borrowed while the channel is in use. */
struct exchange_channel_config {
    struct ev_loop *loop;
    const struct addr *server;
    struct dnstap *dnstap;    /* NULL: none */
    const struct dname *zone; /* the server's zone; NULL: none */
};

struct exchange_channel {
    struct exchange_channel_config config;
    ev_io io; /* fd -1: not open, or a connection of tls_pool's */
    enum dnstap_protocol protocol;
    int64_t asked_ns;  /* with dnstap: Unix time of the query that has no response yet */
    struct addr local; /* with dnstap: the query's source address; not known for TLS */
};

void exchange_channel_init(struct exchange_channel *channel,
                           const struct exchange_channel_config *config,
                           enum dnstap_protocol protocol,
                           void (*on_io)(struct ev_loop *, ev_io *, int), void *data);

/* Connects a socket, not yet watched: non-blocking over TCP. Returns 0, or -errno. */
int exchange_channel_open(struct exchange_channel *channel);
bool exchange_channel_is_open(const struct exchange_channel *channel);
void exchange_channel_close(struct exchange_channel *channel); /* open or not */

/* Watches an open socket for these events (EV_READ, EV_WRITE). */
void exchange_channel_watch(struct exchange_channel *channel, int events);

/* Sends a whole datagram. Returns 0, or -errno. */
int exchange_channel_send(const struct exchange_channel *channel, struct slice query);

/* Show a query to dnstap as sent now. For TLS, the connection chooses the id: the time is noted,
 * and the query is shown with its response, or when that is no longer awaited. */
void exchange_channel_show_query(struct exchange_channel *channel, struct slice query);
void exchange_channel_note_query(struct exchange_channel *channel);
void exchange_channel_show_noted(struct exchange_channel *channel, struct slice query);

/* Shows a response to dnstap. */
void exchange_channel_show_reply(const struct exchange_channel *channel, struct slice reply);

/* ---- Places for TCP ----
 *
 * A client gets no further one when it has as many as are free (fair_queue.h), nor does, with stub
 * zones, a zone. So neither one client, nor a zone whose upstreams are slow over TCP, takes the
 * places that others need. Without a place, the truncated response must do; a question to an
 * upstream for TCP alone is not sent. */

/* 64 KiB each while a slow server sends, so 16 MiB. It allows 256 long responses a second of
 * servers that take a second. */
enum { TCP_PLACES_MAX = 256 };

/* Bounds the exchanges over TCP that go on listening to UDP for a right response after a malformed
 * one, which may be forged. They are few, since each takes a second descriptor, and
 * process_limits.c counts one. The others use only TCP's response. */
enum { TCP_LISTENERS_MAX = 12 };

/* One zone's use. */
struct tcp_zone {
    size_t taken, listening;
};

struct tcp_places {
    struct forwarder_counts *counts; /* borrowed */
    struct client_loads *loads;
    size_t listening;
    struct client_loads *listening_loads;
    bool are_zones_many; /* set by the owner: zones have shares, too */
};

void tcp_places_init(struct tcp_places *places, struct forwarder_counts *counts);
void tcp_places_fini(struct tcp_places *places);

/* Takes a place. Returns false when there is none for this client or zone. */
bool tcp_places_take(struct tcp_places *places, struct tcp_zone *zone,
                     const struct addr *client) MUST_CHECK;
void tcp_places_return(struct tcp_places *places, struct tcp_zone *zone, const struct addr *client);

/* Do the same for a place to listen. */
bool tcp_places_listen(struct tcp_places *places, struct tcp_zone *zone,
                       const struct addr *client) MUST_CHECK;
void tcp_places_unlisten(struct tcp_places *places, struct tcp_zone *zone,
                         const struct addr *client);

#endif
