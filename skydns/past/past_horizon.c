#include "skydns/past/past_horizon_internal.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/err.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"
#include "common/etcd/etcd_watch.h"

/* etcd looks at watches that begin in the past ten times a second; a second is ample. */
static const double confirmed_s = 1., unconfirmed_s = 5.;

struct past_horizon {
    struct past_horizon_config config;
    struct etcd_watch *watch;
    ev_timer timer;
    bool is_up;
};

static void tell_horizon(struct past_horizon *h, int64_t oldest)
{
    etcd_watch_stop(h->watch);
    h->watch = NULL;
    ev_timer_stop(h->config.loop, &h->timer);
    h->config.done(h->config.data, oldest);
}

static void set_horizon_timer(struct past_horizon *h, double after_s)
{
    timer_arm(h->config.loop, &h->timer, after_s);
}

static void past_horizon_on_events(void *data, const struct etcd_event *events UNUSED,
                                   size_t count UNUSED, int64_t revision UNUSED)
{
    tell_horizon(data, 1);
}

static void past_horizon_on_up(void *data)
{
    struct past_horizon *h = data;
    h->is_up = true;
    set_horizon_timer(h, confirmed_s);
}

static void past_horizon_on_end(void *data, const struct err *err)
{
    struct past_horizon *h = data;
    tell_horizon(h, err->code == ERR_COMPACTED ? etcd_watch_compacted(h->watch) : 0);
}

static void past_horizon_on_timer(struct ev_loop *loop UNUSED, ev_timer *timer, int events UNUSED)
{
    struct past_horizon *h = timer->data;
    tell_horizon(h, h->is_up ? 1 : 0);
}

struct past_horizon *past_horizon_find(const struct past_horizon_config *config)
{
    struct past_horizon *h = xcalloc(1, sizeof(*h));
    h->config = *config;
    timer_init(&h->timer, past_horizon_on_timer, h);
    set_horizon_timer(h, unconfirmed_s);
    const struct etcd_watch_config watch = {
        .key = config->prefix, /* one key, which is not there: nothing else is sent */
        .start_revision = 1,
        .on_events = past_horizon_on_events,
        .on_up = past_horizon_on_up,
        .on_end = past_horizon_on_end,
        .data = h,
    };
    h->watch = etcd_watch_start(config->etcd, &watch);
    return h;
}

void past_horizon_free(struct past_horizon *horizon)
{
    if (horizon) {
        etcd_watch_stop(horizon->watch);
        ev_timer_stop(horizon->config.loop, &horizon->timer);
        free(horizon);
    }
}
