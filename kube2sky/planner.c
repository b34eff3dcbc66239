#include "kube2sky/planner.h"

#include "common/log.h"

/* Foreign keys can be as long as a request to etcd, 1.5 MiB unless it is told otherwise. */
enum { ETCD_KEY_MAX = 16 * 1024 * 1024 };

static void on_dropped(void *data, const struct naming_drop *drop)
{
    static struct log_limit limit = {.burst = 10};
    struct planner *planner = data;
    planner->dropped++;
    if (log_limit_pass(&limit)) {
        log_warn("left out of the service's keys", LOG_STR("namespace", drop->ns),
                 LOG_STR("service", drop->name), LOG_STR("what", drop->what),
                 LOG_STR("value", drop->value));
    }
}

void planner_init(struct planner *planner, const struct inventory *inventory, const char *domain,
                  uint32_t ttl_s)
{
    *planner = (struct planner){
        .inventory = inventory,
        .naming = {.domain = domain, .ttl_s = ttl_s, .dropped = on_dropped, .data = planner},
    };
    buf_init(&planner->base, ETCD_KEY_MAX);
    desired_init(&planner->desired);
}

void planner_fini(struct planner *planner)
{
    buf_fini(&planner->base);
    desired_fini(&planner->desired);
}

static bool build_desired(struct planner *planner, const struct owner *owner)
{
    static struct log_limit limit = {.burst = 10};
    struct inventory_pair pair;
    struct err err;
    desired_clear(&planner->desired);
    if (!inventory_get(planner->inventory, owner->id, &pair)) {
        return false;
    }
    if (naming_build(&planner->naming, pair.service, pair.endpoints, &planner->desired, &err) < 0) {
        if (log_limit_pass(&limit)) {
            log_error("too many records for one service, its keys stay as they are",
                      LOG_SLICE("service", owner->id), LOG_STR("error", err.msg));
        }
        return false;
    }
    return true;
}

size_t planner_plan(struct planner *planner, const struct owners *owners, struct owner *owner,
                    struct plan *ret_plan)
{
    if (!build_desired(planner, owner)) {
        plan_build_nothing(ret_plan);
        return 1;
    }
    owner->desired_count = planner->desired.count;
    owners_base(owners, owner, &planner->base);
    plan_build(&planner->desired, buf_slice(&planner->base), &owner->actual, ret_plan);
    return 1 + planner->desired.count + owner->actual.count;
}
