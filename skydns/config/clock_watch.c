#include "skydns/config/clock_watch_internal.h"

#include <stdlib.h>
#include <time.h>

#include "common/base/attributes.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/xalloc.h"

static const double look_s = 1.0;

struct clock_watch {
    struct ev_loop *loop;
    ev_timer look;
    int64_t wall_ms, monotonic_ms; /* when it last looked */
};

static const char *time_text(int64_t unix_ms, char out[64])
{
    struct tm utc;
    time_t when = (time_t)(unix_ms / 1000);
    if (!gmtime_r(&when, &utc) || strftime(out, 64, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) {
        out[0] = '\0';
    }
    return out;
}

static void look(struct clock_watch *watch)
{
    watch->wall_ms = clock_wall_ms();
    watch->monotonic_ms = clock_monotonic_ms();
}

static void on_look(struct ev_loop *loop UNUSED, ev_timer *timer, int events UNUSED)
{
    char from[64], to[64];
    struct clock_watch *watch = timer->data;
    int64_t before_ms = watch->wall_ms, was_ms = watch->monotonic_ms;
    look(watch);
    int64_t due_ms = before_ms + (watch->monotonic_ms - was_ms);
    int64_t jump_s = (watch->wall_ms - due_ms) / 1000;
    if (jump_s > CLOCK_WATCH_JUMP_S || jump_s < -CLOCK_WATCH_JUMP_S) {
        log_warn("the wall clock jumped, signatures that are not valid now are made again",
                 LOG_STR("from", time_text(due_ms, from)),
                 LOG_STR("to", time_text(watch->wall_ms, to)), LOG_INT("seconds", jump_s));
    }
}

struct clock_watch *clock_watch_new(struct ev_loop *loop)
{
    struct clock_watch *watch = xcalloc(1, sizeof(*watch));
    watch->loop = loop;
    ev_timer_init(&watch->look, on_look, look_s, look_s);
    watch->look.data = watch;
    return watch;
}

void clock_watch_free(struct clock_watch *watch)
{
    if (watch) {
        ev_timer_stop(watch->loop, &watch->look);
        free(watch);
    }
}

void clock_watch_turn(struct clock_watch *watch, bool is_on)
{
    if (!is_on) {
        ev_timer_stop(watch->loop, &watch->look);
    } else if (!ev_is_active(&watch->look)) {
        look(watch);
        ev_timer_set(&watch->look, look_s, look_s);
        ev_timer_start(watch->loop, &watch->look);
    }
}
