#include "skydns/streams/tcp_clients_internal.h"

#include <stdint.h>
#include <stdlib.h>

#include "common/base/key_table.h"
#include "common/base/xalloc.h"

/* Limits levels: 1, 2-3, 4-7 ...; the last also has all that is more. */
enum { LEVELS = 32 };

TAILQ_HEAD(tcp_ranks, tcp_rank);

struct ranking {
    uint32_t occupied; /* a bit for each level that has clients */
    struct tcp_ranks levels[LEVELS];
};

struct tcp_clients {
    struct key_table table;
    struct ranking by_connections, by_buffered, by_handshakes;
};

/* ---- Rankings ---- */

static void ranking_init(struct ranking *ranking)
{
    for (unsigned i = 0; i < LEVELS; i++) {
        TAILQ_INIT(&ranking->levels[i]);
    }
}

static unsigned level_of(size_t amount)
{
    unsigned bits = amount ? 64 - (unsigned)__builtin_clzll(amount) : 0;
    return bits < LEVELS ? bits : LEVELS - 1;
}

static void tcp_clients_rank(struct ranking *ranking, struct tcp_rank *place, size_t amount)
{
    unsigned level = level_of(amount);
    if (level == place->level) {
        return;
    }
    if (place->level) {
        struct tcp_ranks *old = &ranking->levels[place->level];
        TAILQ_REMOVE(old, place, entry);
        ranking->occupied &= ~((uint32_t)TAILQ_EMPTY(old) << place->level);
    }
    if (level) {
        TAILQ_INSERT_TAIL(&ranking->levels[level], place, entry);
        ranking->occupied |= UINT32_C(1) << level;
    }
    place->level = level;
}

static struct tcp_client *tcp_clients_highest(const struct ranking *ranking)
{
    if (!ranking->occupied) {
        return NULL;
    }
    unsigned level = 31 - (unsigned)__builtin_clz(ranking->occupied);
    return TAILQ_FIRST(&ranking->levels[level])->client;
}

/* ---- Clients ---- */

static struct slice tcp_clients_key_of(const void *thing)
{
    return client_net_key(&((const struct tcp_client *)thing)->net);
}

struct tcp_clients *tcp_clients_new(void)
{
    struct tcp_clients *clients = xcalloc(1, sizeof(*clients));
    key_table_init(&clients->table, tcp_clients_key_of);
    ranking_init(&clients->by_connections);
    ranking_init(&clients->by_buffered);
    ranking_init(&clients->by_handshakes);
    return clients;
}

void tcp_clients_free(struct tcp_clients *clients)
{
    if (!clients) {
        return;
    }
    for (size_t at = 0; key_table_next(&clients->table, &at); at++) {
        free(clients->table.slots[at]);
    }
    key_table_fini(&clients->table);
    free(clients);
}

const struct tcp_client *tcp_clients_find(const struct tcp_clients *clients,
                                          const struct addr *addr)
{
    struct client_net net = client_net_of(addr);
    return key_table_find(&clients->table, client_net_key(&net));
}

static struct tcp_client *tcp_clients_add(struct tcp_clients *clients, const struct client_net *net)
{
    struct tcp_client *client = xcalloc(1, sizeof(*client));
    client->net = *net;
    client->set = -1;
    client->by_connections.client = client->by_buffered.client = client;
    client->by_handshakes.client = client;
    TAILQ_INIT(&client->idle);
    TAILQ_INIT(&client->owed);
    TAILQ_INIT(&client->holders);
    TAILQ_INIT(&client->slow);
    TAILQ_INIT(&client->held);
    (void)key_table_put(&clients->table, client); /* it was not there */
    return client;
}

struct tcp_client *tcp_clients_enter(struct tcp_clients *clients, const struct addr *addr)
{
    struct client_net net = client_net_of(addr);
    struct tcp_client *client = key_table_find(&clients->table, client_net_key(&net));
    if (!client) {
        client = tcp_clients_add(clients, &net);
    }
    tcp_clients_rank(&clients->by_connections, &client->by_connections, ++client->connections);
    return client;
}

void tcp_clients_leave(struct tcp_clients *clients, struct tcp_client *client)
{
    tcp_clients_rank(&clients->by_connections, &client->by_connections, --client->connections);
    if (client->connections == 0) {
        (void)key_table_take(&clients->table, client_net_key(&client->net)); /* this one */
        free(client);
    }
}

void tcp_clients_hold(struct tcp_clients *clients, struct tcp_client *client, size_t before,
                      size_t now)
{
    client->buffered = client->buffered - before + now;
    tcp_clients_rank(&clients->by_buffered, &client->by_buffered, client->buffered);
}

void tcp_clients_shake_hands(struct tcp_clients *clients, struct tcp_client *client, size_t now)
{
    client->handshakes = now;
    tcp_clients_rank(&clients->by_handshakes, &client->by_handshakes, now);
}

bool tcp_clients_are_alone(const struct tcp_clients *clients)
{
    return clients->table.count <= 1;
}

struct tcp_client *tcp_clients_most_connections(const struct tcp_clients *clients)
{
    return tcp_clients_highest(&clients->by_connections);
}

struct tcp_client *tcp_clients_most_buffered(const struct tcp_clients *clients)
{
    return tcp_clients_highest(&clients->by_buffered);
}

struct tcp_client *tcp_clients_most_handshakes(const struct tcp_clients *clients)
{
    return tcp_clients_highest(&clients->by_handshakes);
}
