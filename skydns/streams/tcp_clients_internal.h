/* Tracks the TCP server's clients: how many connections, buffers, handshakes and deferred queries
 * each has. So the server knows who takes most when one of these runs out. Clients are ranked by
 * powers of two, so that no operation takes longer the more clients there are; "most" is right
 * within a factor of two. At most as many clients as connections, 0.3 KB each. Only on the server's
 * thread. */
#ifndef SKYDNS_STREAMS_TCP_CLIENTS_INTERNAL_H
#define SKYDNS_STREAMS_TCP_CLIENTS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "common/base/addr.h"
#include "common/base/client_net.h"

struct tcp_client;
struct tcp_clients;
struct tcp_connection;
struct tcp_handshake;

TAILQ_HEAD(tcp_connection_queue, tcp_connection);
TAILQ_HEAD(tcp_handshake_queue, tcp_handshake);

/* Place of a client in a ranking. */
struct tcp_rank {
    TAILQ_ENTRY(tcp_rank) entry;
    struct tcp_client *client;
    unsigned level; /* bits of the amount; 0: it has nothing, and is in no list */
};

struct tcp_client {
    struct client_net net;
    size_t connections;
    size_t waiting;  /* their deferred queries */
    size_t buffered; /* bytes of their buffers */
    size_t handshakes;
    struct tcp_rank by_connections, by_buffered, by_handshakes;

    /* Fields of the server. */
    unsigned turn;                       /* of the loop, in which it was last answered */
    size_t spent;                        /* of its share of that turn */
    unsigned common;                     /* its connections in the poller's common set */
    int set;                             /* its own, for the others; -1: it has none */
    struct tcp_connection_queue idle;    /* those that may be closed, longest idle first */
    struct tcp_connection_queue owed;    /* those that wait for late answers, longest first */
    struct tcp_connection_queue holders; /* those with buffers, longest first */
    struct tcp_handshake_queue slow;     /* begun, and wait for the client; longest first */
    struct tcp_handshake_queue held;     /* wait to begin, longest first */
    TAILQ_ENTRY(tcp_client) in_turn;     /* while `held` is not empty */
};

struct tcp_clients *tcp_clients_new(void);
void tcp_clients_free(struct tcp_clients *clients); /* and the clients; NULL is fine */

/* Returns the client of this address; NULL: it has no connections. */
const struct tcp_client *tcp_clients_find(const struct tcp_clients *clients,
                                          const struct addr *addr);

/* Adds a connection from this address. */
struct tcp_client *tcp_clients_enter(struct tcp_clients *clients, const struct addr *addr);

/* Removes a connection; frees a client that has no more. */
void tcp_clients_leave(struct tcp_clients *clients, struct tcp_client *client);

/* Notes that the client's buffers changed from `before` to `now` bytes; either may be 0. */
void tcp_clients_hold(struct tcp_clients *clients, struct tcp_client *client, size_t before,
                      size_t now);

/* Notes how many of the client's handshakes are unfinished now. */
void tcp_clients_shake_hands(struct tcp_clients *clients, struct tcp_client *client, size_t now);

/* Returns whether there is at most one client. */
bool tcp_clients_are_alone(const struct tcp_clients *clients);

/* Return the client that has most; NULL: nobody has any. */
struct tcp_client *tcp_clients_most_connections(const struct tcp_clients *clients);
struct tcp_client *tcp_clients_most_buffered(const struct tcp_clients *clients);
struct tcp_client *tcp_clients_most_handshakes(const struct tcp_clients *clients);

#endif
