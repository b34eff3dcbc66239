/* Manages the questions on connections to an upstream, those that wait, and their shares of all of
 * them. */
#include <assert.h>
#include <sys/random.h>

#include "common/base/clock.h"
#include "common/base/fair_queue.h"
#include "common/dns/dns.h"
#include "skydns/upstream/tls_pool_internal.h"
#include "skydns/upstream/upstream_message.h"

/* How long a question may wait without a byte from the upstream before the connection, or the
 * upstream, counts as dead. */
enum { SILENCE_MS = 1000 };

static struct tls_ask *find_ask(const struct tls_link_user *user, uint16_t id)
{
    struct tls_ask *ask;
    LIST_FOREACH(ask, &user->by_id[id % TLS_ID_CHAINS], sent_entry)
    {
        if ((ask->query[0] << 8 | ask->query[1]) == id) {
            return ask;
        }
    }
    return NULL;
}

/* Draws an id that no question on this connection has. */
static uint16_t draw_id(const struct tls_link_user *user)
{
    uint16_t id;
    if (getrandom(&id, sizeof(id), 0) != sizeof(id)) {
        id = (uint16_t)user->asked; /* never; and TLS protects the response, not the id */
    }
    while (find_ask(user, id)) {
        id++;
    }
    return id;
}

void tls_ask_send(struct tls_link_user *user, struct tls_ask *ask)
{
    uint16_t id = draw_id(user);
    ask->query[0] = (uint8_t)(id >> 8);
    ask->query[1] = (uint8_t)id;
    ask->state = TLS_ASK_SENT;
    ask->link = user;
    ask->sent_ms = clock_monotonic_ms();
    ask->heard = user->heard;
    LIST_INSERT_HEAD(&user->by_id[id % TLS_ID_CHAINS], ask, sent_entry);
    TAILQ_INSERT_TAIL(&user->sent, ask, wait_entry);
    if (ask->holds != user) { /* a connection that it waited for */
        tls_ask_pass_on(ask);
        tls_link_hold(user, ask);
    }
    user->asked++;
    user->open++;
    tls_link_set_idle(&user->link, -1);
    tls_link_send(&user->link, ask->query, ask->len);
}

void tls_link_make_room(struct tls_link_user *user)
{
    if (!user->link.is_ending) {
        user->makes_room = true;
        tls_link_end(&user->link, NULL);
    }
}

void tls_link_rest(struct tls_link_user *user)
{
    if (user->peer->pool->is_short && !user->holder) {
        tls_link_make_room(user);
    } else if (user->open > 0) {
        return;
    } else if (user->is_retired) {
        tls_link_end(&user->link, NULL);
    } else {
        tls_link_set_idle(&user->link, user->idle_s);
    }
}

void tls_ask_take_off(struct tls_ask *ask)
{
    LIST_REMOVE(ask, sent_entry);
    TAILQ_REMOVE(&ask->link->sent, ask, wait_entry);
    tls_ask_pass_on(ask);
    ask->link->open--;
    ask->link = NULL;
    ask->state = TLS_ASK_NONE;
}

bool tls_ask_take_place(struct tls_peer *peer, struct tls_ask *ask, bool waits)
{
    size_t left = peer->taken < TLS_POOL_TAKEN_MAX ? TLS_POOL_TAKEN_MAX - peer->taken : 0;
    if (waits) {
        const size_t count = peer->waiting_count;
        const size_t left_waiting = count < TLS_POOL_WAITING_MAX ? TLS_POOL_WAITING_MAX - count : 0;
        left = left_waiting < left ? left_waiting : left;
    }
    if (ask->is_urgent) {
        (void)client_loads_add(peer->loads, &ask->client);
    } else if (!client_loads_take(peer->loads, &ask->client, left)) {
        counter_add(&peer->pool->counts.refused, 1);
        return false;
    }
    peer->taken++;
    return true;
}

void tls_ask_leave_place(struct tls_ask *ask)
{
    assert(ask->peer->taken > 0);
    ask->peer->taken--;
    tls_ask_pass_on(ask);
    client_loads_drop(ask->peer->loads, &ask->client);
}

void tls_ask_wait(struct tls_peer *peer, struct tls_ask *ask)
{
    ask->state = TLS_ASK_WAITS;
    ask->round = peer->round;
    TAILQ_INSERT_TAIL(&peer->waiting, ask, wait_entry);
    peer->waiting_count++;
}

void tls_ask_stop_waiting(struct tls_ask *ask)
{
    TAILQ_REMOVE(&ask->peer->waiting, ask, wait_entry);
    ask->peer->waiting_count--;
    ask->state = TLS_ASK_NONE;
}

/* Ends a connection that has been silent since the question was sent: it would not answer further
 * questions either. */
static void suspect_silence(struct tls_link_user *user, const struct tls_ask *ask)
{
    struct err err;
    if (user->heard != ask->heard || clock_monotonic_ms() - ask->sent_ms < SILENCE_MS) {
        return;
    }
    user->is_retired = true;
    if (user->open == 0) {
        (void)err_set(&err, ERR_TIMEOUT, "the upstream does not respond");
        tls_link_end(&user->link, &err);
    }
}

void tls_pool_forget(struct tls_ask *ask)
{
    struct tls_link_user *user = ask->link;
    const bool has_place = ask->state != TLS_ASK_NONE;
    if (ask->state == TLS_ASK_WAITS) {
        tls_ask_stop_waiting(ask);
    } else if (ask->state == TLS_ASK_LOST) {
        TAILQ_REMOVE(&ask->peer->lost, ask, wait_entry);
    } else if (ask->state == TLS_ASK_SENT) {
        tls_ask_take_off(ask);
    }
    ask->state = TLS_ASK_NONE;
    if (has_place) {
        tls_ask_leave_place(ask);
    }
    if (user) {
        suspect_silence(user, ask);
        tls_link_rest(user);
    }
}

static bool is_reply_to(const struct tls_ask *ask, const uint8_t *message, size_t len)
{
    return upstream_is_reply(ask->query, ask->len, message, len, false) ||
           upstream_is_bare_failure(ask->query, message, len) ||
           upstream_is_edns_refusal(ask->query, ask->len, message, len);
}

/* Learns how long the connection may be idle. RFC 7828 3.3: 0 means that it should be closed at
 * once. */
static void learn_idle(struct tls_link_user *user, const uint8_t *message, size_t len)
{
    uint16_t ds;
    user->knows_idle = true;
    if (upstream_reply_keepalive(message, len, &ds)) {
        user->idle_s = ds / 10.0 < TLS_POOL_IDLE_MAX_S ? ds / 10.0 : TLS_POOL_IDLE_MAX_S;
        user->is_retired = user->is_retired || ds == 0;
    }
}

/* Counts a response without a question. Late ones to forgotten questions are fine; more than were
 * asked are not. */
static void note_unasked(struct tls_link_user *user)
{
    struct err err;
    if (++user->unasked > user->asked) {
        (void)err_set(&err, ERR_PROTOCOL, "responses to queries that were not sent");
        tls_link_end(&user->link, &err);
    }
}

struct tls_ask *tls_ask_answered(struct tls_link_user *user, const uint8_t *message, size_t len)
{
    struct tls_ask *ask =
        len >= DNS_HEADER_SIZE ? find_ask(user, (uint16_t)(message[0] << 8 | message[1])) : NULL;
    user->heard++;
    if (!ask || !is_reply_to(ask, message, len)) {
        note_unasked(user);
        return NULL;
    }
    tls_ask_take_off(ask);
    tls_ask_leave_place(ask);
    user->answered++;
    if (!user->knows_idle) {
        learn_idle(user, message, len);
    }
    tls_link_rest(user);
    return ask;
}

/* ---- Shares of the connections ---- */

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
