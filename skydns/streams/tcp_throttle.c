/* Holds connections whose next query is beyond a rate (tcp_admit_fn), and tries them again in
 * turn. Meanwhile the kernel's buffers fill, and the client waits. A few are tried at a time,
 * however many there are, so that they leave the loop to the others. */
#include "common/base/attributes.h"
#include "skydns/streams/tcp_connection_internal.h"

#include <assert.h>

/* Limits of the time between tries: less would be busy, more unfair to who could go on. */
static const double try_soon_s = 0.001, try_late_s = 0.1;

/* Makes the next try come after `after_s`, or earlier. */
static void tcp_throttle_wake(struct tcp_server *s, double after_s)
{
    if (ev_is_active(&s->throttle_timer) &&
        ev_timer_remaining(s->config.loop, &s->throttle_timer) <= after_s) {
        return;
    }
    ev_timer_stop(s->config.loop, &s->throttle_timer);
    ev_timer_set(&s->throttle_timer, after_s, 0.);
    ev_timer_start(s->config.loop, &s->throttle_timer);
}

bool tcp_throttle_admit(struct tcp_connection *c)
{
    struct tcp_server *s = c->server;
    assert(!c->is_throttled);
    if (s->draining) {
        return true; /* everything that has arrived is answered */
    }
    const int64_t wait_us =
        s->config.admit(s->config.data, &c->client, c->transport, c->is_delayed);
    c->is_delayed = wait_us > 0;
    if (wait_us == 0) {
        return true;
    }
    c->is_throttled = true;
    s->throttled_count++;
    TAILQ_INSERT_TAIL(&s->throttled, c, in_throttle);
    const double wait_s = (double)wait_us / 1e6;
    tcp_throttle_wake(s, wait_s < try_soon_s   ? try_soon_s
                         : wait_s > try_late_s ? try_late_s
                                               : wait_s);
    return false;
}

void tcp_throttle_forget(struct tcp_connection *c)
{
    struct tcp_server *s = c->server;
    c->is_throttled = false;
    s->throttled_count--;
    TAILQ_REMOVE(&s->throttled, c, in_throttle);
}

/* Returns whether a connection with frames at hand may go on, before anything copies them. */
static bool may_go_on_with_frames(struct tcp_connection *c)
{
    if ((c->todo & TCP_HAS_FRAMES) && !c->has_ticket) {
        c->has_ticket = tcp_connection_is_admitted(c);
        return c->has_ticket;
    }
    return true;
}

/* Tries the first ones; each may be held again, at the end, and others may close. */
static void on_throttle(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct tcp_server *s = timer->data;
    const size_t all = s->throttled_count;
    for (size_t i = 0; i < all && i < TCP_EVENTS_A_TURN && s->throttled_count > 0; i++) {
        struct tcp_connection *c = TAILQ_FIRST(&s->throttled);
        tcp_throttle_forget(c);
        if (may_go_on_with_frames(c)) {
            tcp_connection_settle(c, tcp_connection_go_on(c));
        }
    }
    if (all > TCP_EVENTS_A_TURN && s->throttled_count > 0) {
        tcp_throttle_wake(s, try_soon_s);
    }
}

void tcp_throttle_init(struct tcp_server *server)
{
    TAILQ_INIT(&server->throttled);
    ev_init(&server->throttle_timer, on_throttle);
    server->throttle_timer.data = server;
}

void tcp_throttle_fini(struct tcp_server *server)
{
    ev_timer_stop(server->config.loop, &server->throttle_timer);
}
