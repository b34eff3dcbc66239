/* Opens connections, chooses one for each question, and moves the questions of a connection that
 * ended. */
#include "skydns/upstream/tls_pool.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/fair_queue.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"
#include "common/tls/tls_client.h"
#include "common/tls/tls_handshakes.h"
#include "common/tls/tls_session.h"
#include "skydns/upstream/tls_pool_internal.h"

/* ---- Connections ---- */

void tls_pool_on_message(struct tls_link_user *user, const uint8_t *message, size_t len)
{
    struct tls_peer *peer = user->peer;
    struct tls_ask *ask = tls_ask_answered(user, message, len);
    if (!ask) {
        return;
    }
    tls_peer_answered(peer);
    peer->is_calling = true;
    ask->done(ask->data, message, len);
    peer->is_calling = false;
    tls_peer_pump(peer);
}

void tls_pool_on_opened(struct tls_link_user *user)
{
    struct tls_pool_counts *counts = &user->peer->pool->counts;
    bool is_resumed = tls_session_is_resumed(user->link.session);
    counter_add(is_resumed ? &counts->resumed : &counts->full, 1);
    tls_peer_pump(user->peer);
    tls_link_rest(user);
}

/* Takes the questions of an ended connection back: they are sent again, or fail. */
static void tls_pool_reclaim(struct tls_link_user *user)
{
    struct tls_ask *ask;
    for (size_t i = 0; i < TLS_ID_CHAINS; i++) {
        while ((ask = LIST_FIRST(&user->by_id[i]))) {
            tls_ask_take_off(ask);
            if (!ask->was_lost || user->answered > 0 || user->makes_room) {
                ask->was_lost = ask->was_lost || !user->makes_room;
                tls_ask_wait(user->peer, ask);
            } else {
                ask->state = TLS_ASK_LOST;
                TAILQ_INSERT_TAIL(&user->peer->lost, ask, wait_entry);
            }
        }
    }
}

/* Fails the lost questions. Callbacks may ask again, and forget others. */
static void fail_lost(struct tls_peer *peer)
{
    struct tls_ask *ask;
    while ((ask = TAILQ_FIRST(&peer->lost))) {
        TAILQ_REMOVE(&peer->lost, ask, wait_entry);
        ask->state = TLS_ASK_NONE;
        tls_ask_leave_place(ask);
        ask->done(ask->data, NULL, 0);
    }
}

/* Fails the questions that waited for the round of attempts that is over. */
static void fail_waiting(struct tls_peer *peer)
{
    struct tls_ask *ask;
    uint64_t round = peer->round++;
    while ((ask = TAILQ_FIRST(&peer->waiting)) && ask->round <= round) {
        tls_ask_stop_waiting(ask);
        tls_ask_leave_place(ask);
        ask->is_starved = peer->is_starved;
        ask->done(ask->data, NULL, 0);
    }
}

static void keep_ticket(struct tls_link_user *user)
{
    struct tls_peer *peer = user->peer;
    struct ssl_session_st *ticket =
        user->link.state == TLS_LINK_OPEN ? tls_session_ticket(user->link.session) : NULL;
    if (ticket || user->link.state != TLS_LINK_OPEN) { /* a ticket may be why it failed */
        tls_session_ticket_free(peer->ticket);
        peer->ticket = ticket;
    }
}

static bool has_open_link(const struct tls_peer *peer)
{
    const struct tls_link_user *user;
    LIST_FOREACH(user, &peer->links, entry)
    {
        if (user->link.state == TLS_LINK_OPEN && !user->link.is_ending) {
            return true;
        }
    }
    return false;
}

static void tls_pool_free_link(struct tls_link_user *user)
{
    struct tls_peer *peer = user->peer;
    tls_link_release(user);
    LIST_REMOVE(user, entry);
    peer->link_count--;
    counter_sub(&peer->pool->counts.connections, 1);
    tls_link_fini(&user->link);
    free(user);
}

static void pump_all(struct tls_pool *pool)
{
    struct tls_peer *peer, *next;
    pool->is_short = false;
    for (peer = TAILQ_FIRST(&pool->peers); peer; peer = next) {
        next = TAILQ_NEXT(peer, entry);
        tls_peer_pump(peer);
    }
}

void tls_pool_on_ended(struct tls_link_user *user, const struct err *err)
{
    struct tls_peer *peer = user->peer;
    struct tls_pool *pool = peer->pool;
    bool was_open = user->link.state == TLS_LINK_OPEN;
    bool has_failed = err->code != 0 && (!was_open || (user->asked > 0 && user->answered == 0));
    keep_ticket(user);
    if (has_failed) {
        peer->is_starved = err_is_shortage(err->code) && !was_open;
        tls_peer_failed(peer, err); /* the error may be part of the link */
    }
    tls_pool_reclaim(user);
    tls_pool_free_link(user);
    peer->is_calling = true;
    if (!was_open && !has_open_link(peer)) {
        fail_waiting(peer);
    }
    fail_lost(peer);
    peer->is_calling = false;
    tls_peer_pump(peer);
    if (pool->is_short) {
        pump_all(pool);
    }
}

/* Reads the system's CAs, which takes some milliseconds, and starts the thread, which takes memory:
 * only when needed. */
static bool tls_pool_prepare(struct tls_pool *pool, struct err *err);

/* Opens a connection. `ask` is to hold it, if it waits; NULL: none is. */
static bool open_link(struct tls_peer *peer, struct tls_ask *ask)
{
    struct tls_pool *pool = peer->pool;
    struct err err;
    if (!tls_pool_prepare(pool, &err)) {
        tls_peer_failed(peer, &err);
        return false;
    }
    struct tls_link_user *user = xcalloc(1, sizeof(*user));
    const struct tls_link_config config = {
        .loop = pool->config.loop,
        .server = &peer->server,
        .client = pool->client,
        .handshakes = pool->handshakes,
        .ticket = &peer->ticket,
        .user = user,
    };
    user->peer = peer;
    user->idle_s = TLS_POOL_IDLE_S;
    for (size_t i = 0; i < TLS_ID_CHAINS; i++) {
        LIST_INIT(&user->by_id[i]);
    }
    TAILQ_INIT(&user->sent);
    LIST_INSERT_HEAD(&peer->links, user, entry);
    peer->link_count++;
    counter_add(&pool->counts.connections, 1);
    if (ask && ask->state == TLS_ASK_WAITS) {
        tls_link_hold(user, ask);
    }
    tls_link_init(&user->link, &config);
    return true;
}

/* Returns whether another connection may be made. If there are too many, ends one that no question
 * holds: its questions are sent again, or wait. */
static bool may_open(struct tls_pool *pool)
{
    struct tls_peer *peer;
    if (counter_get(&pool->counts.connections) < pool->config.connections_max) {
        return true;
    }
    pool->is_short = true;
    TAILQ_FOREACH_REVERSE(peer, &pool->peers, peers, entry)
    {
        struct tls_link_user *user;
        LIST_FOREACH(user, &peer->links, entry)
        {
            if (!user->holder && user->link.state == TLS_LINK_OPEN) {
                tls_link_make_room(user);
                return false; /* true once it has ended */
            }
        }
    }
    return false;
}

static bool is_usable(const struct tls_link_user *user)
{
    return !user->is_retired && user->open < TLS_POOL_ASKED_MAX && tls_link_has_room(&user->link);
}

/* Returns the connection with the fewest questions: any, for a question that may hold one, or else
 * one of those that others hold. NULL: none takes any. */
static struct tls_link_user *choose_link(const struct tls_peer *peer, bool may_hold)
{
    struct tls_link_user *user, *best = NULL;
    LIST_FOREACH(user, &peer->links, entry)
    {
        if (is_usable(user) && (may_hold || user->holder) && (!best || user->open < best->open)) {
            best = user;
        }
    }
    return best;
}

static bool is_connecting(const struct tls_peer *peer)
{
    const struct tls_link_user *user;
    LIST_FOREACH(user, &peer->links, entry)
    {
        if (user->link.state != TLS_LINK_OPEN && !user->link.is_ending) {
            return true;
        }
    }
    return false;
}

static bool may_connect(struct tls_peer *peer, bool is_urgent)
{
    return peer->link_count < TLS_POOL_LINKS_MAX && !is_connecting(peer) &&
           (is_urgent || !ev_is_active(&peer->retry)) && may_open(peer->pool);
}

/* Returns whether the upstream should have another connection, for this question. */
static bool wants_link(struct tls_peer *peer, const struct tls_ask *ask)
{
    const struct tls_link_user *best = choose_link(peer, true);
    bool is_needed = ask->state == TLS_ASK_WAITS || (best && best->open >= TLS_POOL_BUSY);
    return is_needed && tls_ask_may_hold(peer->pool, ask) && may_connect(peer, ask->is_urgent);
}

/* Returns the first question that waits and may hold a connection; NULL: none. */
static struct tls_ask *first_to_connect(const struct tls_peer *peer)
{
    struct tls_ask *ask;
    TAILQ_FOREACH (ask, &peer->waiting, wait_entry) {
        if (tls_ask_may_hold(peer->pool, ask)) {
            break;
        }
    }
    return ask;
}

/* Sends the waiting questions. Those that may hold no connection come after one that holds it. */
static void send_waiting(struct tls_peer *peer)
{
    struct tls_ask *ask, *next;
    for (ask = TAILQ_FIRST(&peer->waiting); ask && choose_link(peer, true); ask = next) {
        struct tls_link_user *user = choose_link(peer, tls_ask_may_hold(peer->pool, ask));
        next = TAILQ_NEXT(ask, wait_entry);
        if (user) {
            tls_ask_stop_waiting(ask);
            tls_ask_send(user, ask);
        }
    }
}

void tls_peer_pump(struct tls_peer *peer)
{
    send_waiting(peer);
    struct tls_ask *ask = first_to_connect(peer);
    if (ask && wants_link(peer, ask)) {
        (void)open_link(peer, ask); /* the next attempt may do better */
    }
}

/* Returns whether the upstream is in its backoff: nothing is tried there before it is over. */
static bool is_put_off(struct tls_peer *peer) /* libev's macro: no const */
{
    return ev_is_active(&peer->retry) && !is_connecting(peer) && !has_open_link(peer);
}

bool tls_ask_is_starved(const struct tls_ask *ask)
{
    struct tls_peer *peer = ask->peer;
    return ask->state == TLS_ASK_WAITS &&
           (has_open_link(peer) ||
            (!is_connecting(peer) && (!ev_is_active(&peer->retry) || peer->is_starved)));
}

enum tls_pool_start tls_pool_ask(struct tls_pool *pool, const struct nameserver *server,
                                 struct tls_ask *ask)
{
    struct tls_peer *peer = tls_peer_get(pool, server);
    ask->state = TLS_ASK_NONE;
    ask->was_lost = ask->is_starved = false;
    ask->link = ask->holds = NULL;
    ask->peer = peer;
    if (!peer) {
        return TLS_POOL_FULL;
    }
    const bool may_hold = tls_ask_may_hold(pool, ask);
    struct tls_link_user *user = first_to_connect(peer) ? NULL : choose_link(peer, may_hold);
    if (!user && !ask->is_urgent && is_put_off(peer)) {
        return peer->is_starved ? TLS_POOL_FULL : TLS_POOL_FAILING;
    }
    if (!user && !may_hold && !is_connecting(peer)) {
        counter_add(&pool->counts.refused, 1);
        return TLS_POOL_FULL;
    }
    if (!tls_ask_take_place(peer, ask, !user)) {
        if (!user && may_hold && may_connect(peer, false)) {
            (void)open_link(peer, NULL); /* for later questions */
        }
        return TLS_POOL_FULL;
    }
    if (user) {
        tls_ask_send(user, ask);
    } else {
        tls_ask_wait(peer, ask);
        send_waiting(peer);
    }
    if (wants_link(peer, ask) && !open_link(peer, ask) && ask->state == TLS_ASK_WAITS &&
        !has_open_link(peer)) {
        tls_ask_stop_waiting(ask);
        tls_ask_leave_place(ask);
        return TLS_POOL_FAILING;
    }
    return TLS_POOL_ASKED;
}

/* ---- CAs, and the thread ---- */

/* Retires all connections and tickets: with other CAs, the old ones' certificates count no more,
 * and ours may be another. */
static void retire_all(struct tls_pool *pool)
{
    struct tls_peer *peer;
    TAILQ_FOREACH (peer, &pool->peers, entry) {
        struct tls_link_user *user;
        tls_session_ticket_free(peer->ticket);
        peer->ticket = NULL;
        LIST_FOREACH(user, &peer->links, entry)
        {
            user->is_retired = true;
            if (user->link.state == TLS_LINK_OPEN) {
                tls_link_rest(user);
            }
        }
    }
}

static void tls_pool_refresh(struct tls_pool *pool)
{
    struct err err;
    switch (tls_client_refresh(pool->client, &err)) {
    case TLS_READ_AGAIN:
        log_info("certificates for upstreams reloaded",
                 LOG_STR("ca", tls_client_ca_file(pool->client)),
                 LOG_STR("cert", tls_client_cert_file(pool->client)));
        retire_all(pool);
        break;
    case TLS_READ_FAILED:
        log_warn("keeping the certificates for upstreams", LOG_STR("error", err.msg));
        break;
    case TLS_UNCHANGED:
        break;
    }
}

static void tls_pool_on_refresh(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    tls_pool_refresh(timer->data);
}

static void tls_pool_on_wake(struct ev_loop *loop UNUSED, ev_async *wake, int revents UNUSED)
{
    struct tls_pool *pool = wake->data;
    struct tls_handshake_job *job;
    while ((job = tls_handshakes_pop(pool->handshakes))) {
        tls_link_shaken(job);
    }
}

/* Wakes the loop; runs on the thread of the handshakes. */
static void wake_loop(void *data)
{
    struct tls_pool *pool = data;
    ev_async_send(pool->config.loop, &pool->wake);
}

static int tls_pool_start_thread(struct tls_pool *pool, struct err *err)
{
    const struct tls_handshakes_config config = {.threads = 1, .wake = wake_loop, .data = pool};
    struct tls_handshakes *handshakes = tls_handshakes_new(&config);
    int r = tls_handshakes_start(handshakes, err);
    if (r < 0) {
        tls_handshakes_free(handshakes);
        return r;
    }
    pool->handshakes = handshakes;
    ev_async_start(pool->config.loop, &pool->wake);
    if (pool->has_files) {
        ev_timer_start(pool->config.loop, &pool->refresh);
    }
    return 0;
}

static bool tls_pool_prepare(struct tls_pool *pool, struct err *err)
{
    return (pool->client || tls_client_new(&(struct tls_files){0}, &pool->client, err) == 0) &&
           (pool->handshakes || tls_pool_start_thread(pool, err) == 0);
}

/* ---- Setup and teardown ---- */

int tls_pool_new(const struct tls_pool_config *config, struct tls_pool **ret, struct err *err)
{
    struct tls_pool *pool = xcalloc_aligned(alignof(struct tls_pool), sizeof(*pool));
    pool->config = *config;
    pool->has_files = tls_files_any(&config->files);
    pool->loads = client_loads_new();
    TAILQ_INIT(&pool->peers);
    ev_async_init(&pool->wake, tls_pool_on_wake);
    pool->wake.data = pool;
    ev_timer_init(&pool->refresh, tls_pool_on_refresh, config->refresh_s, config->refresh_s);
    pool->refresh.data = pool;
    int r = pool->has_files ? tls_client_new(&config->files, &pool->client, err) : 0;
    if (r < 0) {
        tls_pool_free(pool);
        return r;
    }
    *ret = pool;
    return 0;
}

static void drop_peer(struct tls_peer *peer)
{
    struct tls_link_user *user;
    struct tls_ask *ask;
    while ((user = LIST_FIRST(&peer->links))) {
        for (size_t i = 0; i < TLS_ID_CHAINS; i++) {
            while ((ask = LIST_FIRST(&user->by_id[i]))) {
                tls_ask_take_off(ask);
            }
        }
        tls_pool_free_link(user);
    }
    while ((ask = TAILQ_FIRST(&peer->waiting))) {
        tls_ask_stop_waiting(ask);
    }
    tls_peer_free(peer);
}

void tls_pool_free(struct tls_pool *pool)
{
    if (!pool) {
        return;
    }
    if (pool->handshakes) {
        tls_handshakes_stop(pool->handshakes);
        while (tls_handshakes_pop(pool->handshakes)) {
        }
    }
    while (!TAILQ_EMPTY(&pool->peers)) {
        drop_peer(TAILQ_FIRST(&pool->peers));
    }
    tls_handshakes_free(pool->handshakes);
    ev_async_stop(pool->config.loop, &pool->wake);
    ev_timer_stop(pool->config.loop, &pool->refresh);
    tls_client_free(pool->client);
    client_loads_free(pool->loads);
    free(pool);
}

const struct tls_pool_counts *tls_pool_counts(const struct tls_pool *pool)
{
    return &pool->counts;
}
