#include "skydns/streams/tcp_leavers_internal.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/xalloc.h"

struct leaver {
    struct tcp_ref connection;
    int64_t due_us; /* monotonic */
};

struct tcp_leavers {
    struct ev_loop *loop;
    tcp_leaver_fn fn;
    void *data;
    ev_timer timer; /* for the first of the ring; the others are due later */
    unsigned left_in_a_row;
    unsigned first, count;
    struct leaver ring[TCP_LEAVERS_MAX];
};

static void tcp_leavers_start_timer(struct tcp_leavers *l, int64_t now_us)
{
    if (l->count > 0 && !ev_is_active(&l->timer)) {
        int64_t left_us = l->ring[l->first].due_us - now_us;
        ev_timer_set(&l->timer, left_us > 0 ? (double)left_us / 1e6 : 0., 0.);
        ev_timer_start(l->loop, &l->timer);
    }
}

static void tcp_leavers_on_timer(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct tcp_leavers *l = timer->data;
    int64_t now_us = clock_monotonic_us();
    while (l->count > 0 && l->ring[l->first].due_us <= now_us) {
        struct tcp_ref connection = l->ring[l->first].connection;
        l->first = (l->first + 1) % TCP_LEAVERS_MAX;
        l->count--;
        l->fn(l->data, connection);
    }
    tcp_leavers_start_timer(l, now_us);
}

struct tcp_leavers *tcp_leavers_new(struct ev_loop *loop, tcp_leaver_fn fn, void *data)
{
    struct tcp_leavers *l = xcalloc(1, sizeof(*l));
    l->loop = loop;
    l->fn = fn;
    l->data = data;
    ev_init(&l->timer, tcp_leavers_on_timer);
    l->timer.data = l;
    return l;
}

void tcp_leavers_free(struct tcp_leavers *leavers)
{
    if (leavers) {
        ev_timer_stop(leavers->loop, &leavers->timer);
    }
    free(leavers);
}

bool tcp_leavers_take(struct tcp_leavers *leavers, struct tcp_ref connection)
{
    struct tcp_leavers *l = leavers;
    if (l->left_in_a_row < TCP_LEAVERS_LEARNT || l->count == TCP_LEAVERS_MAX) {
        return false;
    }
    int64_t now_us = clock_monotonic_us();
    l->ring[(l->first + l->count++) % TCP_LEAVERS_MAX] =
        (struct leaver){connection, now_us + INT64_C(1000) * TCP_LEAVE_MS};
    tcp_leavers_start_timer(l, now_us);
    return true;
}

void tcp_leavers_learn(struct tcp_leavers *leavers, bool has_left)
{
    struct tcp_leavers *l = leavers;
    if (!has_left) {
        l->left_in_a_row = 0;
    } else if (l->left_in_a_row < TCP_LEAVERS_LEARNT) {
        l->left_in_a_row++;
    }
}
