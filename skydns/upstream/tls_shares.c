/* Decides which questions hold which of the connections to all upstreams. */
#include <assert.h>

#include "common/base/fair_queue.h"
#include "skydns/upstream/tls_pool_internal.h"

bool tls_ask_may_hold(const struct tls_pool *pool, const struct tls_ask *ask)
{
    const size_t max = pool->config.connections_max;
    const size_t left = max > pool->held ? max - pool->held : 0;
    if (ask->is_urgent || pool->held < left) {
        return true;
    }
    const size_t of_zone = ask->zone ? ask->zone->connections : 0;
    const size_t of_client = client_loads_get(pool->loads, &ask->client);
    const size_t most = of_zone > of_client ? of_zone : of_client;
    return most == 0 || most < left;
}

void tls_link_hold(struct tls_link_user *user, struct tls_ask *ask)
{
    struct tls_pool *pool = user->peer->pool;
    if (user->holder || ask->holds || !tls_ask_may_hold(pool, ask)) {
        return;
    }
    user->holder = ask;
    ask->holds = user;
    pool->held++;
    (void)client_loads_add(pool->loads, &ask->client);
    if (ask->zone) {
        ask->zone->connections++;
    }
}

void tls_link_release(struct tls_link_user *user)
{
    struct tls_pool *pool = user->peer->pool;
    struct tls_ask *ask = user->holder;
    if (!ask) {
        return;
    }
    assert(pool->held > 0);
    pool->held--;
    client_loads_drop(pool->loads, &ask->client);
    if (ask->zone) {
        ask->zone->connections--;
    }
    user->holder = NULL;
    ask->holds = NULL;
}

void tls_ask_pass_on(struct tls_ask *ask)
{
    struct tls_link_user *user = ask->holds;
    struct tls_ask *next;
    if (!user) {
        return;
    }
    tls_link_release(user);
    const bool is_open = user->link.state == TLS_LINK_OPEN;
    TAILQ_FOREACH (next, is_open ? &user->sent : &user->peer->waiting, wait_entry) {
        tls_link_hold(user, next);
        if (user->holder) {
            return;
        }
    }
}
