/* Keeps the upstreams over TLS that were asked last, and which of them fail. */
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/fair_queue.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/tls/tls_session.h"
#include "skydns/upstream/tls_pool_internal.h"

/* Bounds the log lines about upstreams that fail now and then. */
enum { TURNS_TOLD_A_MINUTE = 10 };

void tls_peer_free(struct tls_peer *peer)
{
    TAILQ_REMOVE(&peer->pool->peers, peer, entry);
    peer->pool->peer_count--;
    ev_timer_stop(peer->pool->config.loop, &peer->retry);
    tls_session_ticket_free(peer->ticket);
    client_loads_free(peer->loads);
    free(peer);
}

/* Forgets the upstream that was asked longest ago and has nothing going on. Returns false when all
 * have. */
static bool tls_peers_make_room(struct tls_pool *pool)
{
    struct tls_peer *peer;
    TAILQ_FOREACH_REVERSE(peer, &pool->peers, peers, entry)
    {
        if (peer->link_count == 0 && peer->waiting_count == 0 && !peer->is_calling) {
            tls_peer_free(peer);
            return true;
        }
    }
    return false;
}

static void tls_peers_on_retry(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    tls_peer_pump(timer->data);
}

static struct tls_peer *add_peer(struct tls_pool *pool, const struct nameserver *server)
{
    struct tls_peer *peer = xcalloc(1, sizeof(*peer));
    peer->pool = pool;
    peer->server = *server;
    peer->loads = client_loads_new();
    LIST_INIT(&peer->links);
    TAILQ_INIT(&peer->waiting);
    TAILQ_INIT(&peer->lost);
    backoff_init(&peer->backoff, TLS_POOL_BACKOFF_FIRST_MS, TLS_POOL_BACKOFF_MAX_MS);
    timer_init(&peer->retry, tls_peers_on_retry, peer);
    TAILQ_INSERT_HEAD(&pool->peers, peer, entry);
    pool->peer_count++;
    return peer;
}

/* Returns the upstream's entry. NULL: too many have something going on. */
struct tls_peer *tls_peer_get(struct tls_pool *pool, const struct nameserver *server)
{
    struct tls_peer *peer;
    TAILQ_FOREACH (peer, &pool->peers, entry) {
        if (nameserver_equal(&peer->server, server)) {
            TAILQ_REMOVE(&pool->peers, peer, entry);
            TAILQ_INSERT_HEAD(&pool->peers, peer, entry);
            return peer;
        }
    }
    if (pool->peer_count == TLS_POOL_PEERS_MAX && !tls_peers_make_room(pool)) {
        return NULL;
    }
    return add_peer(pool, server);
}

void tls_peer_failed(struct tls_peer *peer, const struct err *err)
{
    static struct log_limit limit = {.burst = TURNS_TOLD_A_MINUTE};
    struct ev_loop *loop = peer->pool->config.loop;
    counter_add(&peer->pool->counts.failed, 1);
    timer_arm_ms(loop, &peer->retry, backoff_next_ms(&peer->backoff, backoff_random()));
    if (peer->is_failing && strcmp(peer->told, err->msg) == 0) {
        return;
    }
    peer->is_failing = true;
    memcpy(peer->told, err->msg, sizeof(peer->told));
    if (log_limit_pass(&limit)) {
        log_warn("no TLS with upstream", LOG_STR("error", err->msg), LOG_SERVER(&peer->server));
    }
}

void tls_peer_answered(struct tls_peer *peer)
{
    backoff_reset(&peer->backoff);
    peer->is_starved = false;
    ev_timer_stop(peer->pool->config.loop, &peer->retry);
    if (peer->is_failing) {
        peer->is_failing = false;
        log_info("upstream responds over TLS", LOG_SERVER(&peer->server));
    }
}
