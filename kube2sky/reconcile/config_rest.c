#include "kube2sky/reconcile/config_rest_internal.h"

#include "kube2sky/reconcile/contest_internal.h"

/* A few keys may be written twice because of failed conditions. */
enum { SLACK = 16 };

void config_rest_end(struct config_rest *rest, int64_t now_ms)
{
    if (rest->is_restoring) {
        rest->is_restoring = false;
        rest->restorations++;
        rest->calm_at_ms = now_ms + contest_limits.calm_ms + 3 * (int64_t)rest->last_ms;
    }
    rest->written = 0;
}

void config_rest_interrupt(struct config_rest *rest)
{
    rest->is_restoring = false;
    rest->written = 0;
}

static uint32_t length_ms(const struct config_rest *rest)
{
    uint64_t ms = contest_limits.rest_first_ms;
    for (unsigned i = CONTEST_FREE; i < rest->restorations && ms < contest_limits.rest_max_ms;
         i++) {
        ms *= 2;
    }
    return ms < contest_limits.rest_max_ms ? (uint32_t)ms : contest_limits.rest_max_ms;
}

uint32_t config_rest_before(struct config_rest *rest, bool is_settled, size_t keys, int64_t now_ms)
{
    if (rest->written > 2 * keys + SLACK) {
        rest->is_restoring = true;
        config_rest_end(rest, now_ms);
        is_settled = true;
    }
    if (!is_settled || rest->is_restoring) {
        return 0;
    }
    if (now_ms >= rest->calm_at_ms) {
        rest->restorations = 0;
        rest->last_ms = 0;
    }
    rest->is_restoring = true;
    if (rest->restorations < CONTEST_FREE) {
        return 0;
    }
    rest->last_ms = length_ms(rest);
    return rest->last_ms;
}

bool config_rest_is_contested(const struct config_rest *rest, int64_t now_ms)
{
    return rest->restorations >= CONTEST_FREE && now_ms < rest->calm_at_ms;
}
