#include "kube2sky/etcd_health.h"

#include "common/attributes.h"
#include "common/log.h"

static void on_patience_over(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct etcd_health *health = timer->data;
    health->is_overdue = true;
    log_error("etcd has been failing for longer than etcd-mutation-timeout, trying on",
              LOG_INT("timeout_ms", health->patience_ms), LOG_STR("error", health->last.msg));
}

static void update(struct etcd_health *health)
{
    bool is_failing = !health->is_followed || health->is_refusing;
    if (!is_failing) {
        ev_timer_stop(health->loop, &health->patience);
        health->is_overdue = false;
    } else if (!ev_is_active(&health->patience) && !health->is_overdue) {
        ev_timer_set(&health->patience, (double)health->patience_ms / 1000.0, 0.0);
        ev_timer_start(health->loop, &health->patience);
    }
}

void etcd_health_init(struct etcd_health *health, struct ev_loop *loop, int64_t patience_ms)
{
    *health = (struct etcd_health){.loop = loop, .patience_ms = patience_ms};
    ev_timer_init(&health->patience, on_patience_over, 0.0, 0.0);
    health->patience.data = health;
    update(health);
}

void etcd_health_fini(struct etcd_health *health)
{
    ev_timer_stop(health->loop, &health->patience);
}

void etcd_health_followed(struct etcd_health *health, const struct err *err)
{
    if (err) {
        log_warn("etcd cannot be followed, trying again", LOG_STR("error", err->msg));
        health->last = *err;
    } else if (!health->is_followed) {
        log_info("etcd is followed");
    }
    health->is_followed = !err;
    update(health);
}

void etcd_health_written(struct etcd_health *health, const struct err *err)
{
    if (err) {
        health->last = *err;
    }
    if (err && !health->is_refusing) {
        log_warn("etcd transaction failed, trying again", LOG_STR("error", err->msg));
    } else if (!err && health->is_refusing) {
        log_info("etcd takes transactions again");
    }
    health->is_refusing = err != NULL;
    update(health);
}

void etcd_health_refused_again(struct etcd_health *health, struct slice service,
                               const struct err *err)
{
    static struct log_limit limit = {.burst = 10};
    health->last = *err;
    if (log_limit_pass(&limit)) {
        log_warn("etcd refuses the service's keys, trying again", LOG_SLICE("service", service),
                 LOG_STR("error", err->msg));
    }
}
