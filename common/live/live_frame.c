/* What both programs' views have in common (live_view.h). */
#include <stdio.h>
#include <time.h>

#include "common/live/live_view.h"

/* Also keeps what a peer sends within an integer. */
static const double seconds_max = 1e10;

const char *live_view_age(double seconds, char out[LIVE_TIME_MAX])
{
    double bounded = seconds < 0 ? 0 : seconds < seconds_max ? seconds : seconds_max;
    long long s = (long long)bounded;
    if (s < 60) {
        (void)snprintf(out, LIVE_TIME_MAX, "%llds", s);
    } else if (s < 3600) {
        (void)snprintf(out, LIVE_TIME_MAX, "%lldm %llds", s / 60, s % 60);
    } else if (s < 86400) {
        (void)snprintf(out, LIVE_TIME_MAX, "%lldh %lldm", s / 3600, s % 3600 / 60);
    } else {
        (void)snprintf(out, LIVE_TIME_MAX, "%lldd %lldh", s / 86400, s % 86400 / 3600);
    }
    return out;
}

const char *live_view_clock(double time_ms, char out[LIVE_TIME_MAX])
{
    double seconds = time_ms / 1000;
    time_t time = (time_t)(seconds > 0 && seconds < seconds_max ? seconds : 0);
    struct tm parts = {0};
    (void)gmtime_r(&time, &parts); /* within its range */
    (void)snprintf(out, LIVE_TIME_MAX, "%02d:%02d:%02d", parts.tm_hour, parts.tm_min, parts.tm_sec);
    return out;
}

const char *live_view_rate(double rate, char out[LIVE_TIME_MAX])
{
    if (rate < 0) {
        (void)snprintf(out, LIVE_TIME_MAX, "-");
    } else {
        (void)snprintf(out, LIVE_TIME_MAX, rate < 1e9 ? "%.1f" : "%.3g", rate);
    }
    return out;
}

const char *live_view_micros(double us, char out[LIVE_TIME_MAX])
{
    if (us < 0) {
        (void)snprintf(out, LIVE_TIME_MAX, "-");
    } else if (us < 1000) {
        (void)snprintf(out, LIVE_TIME_MAX, "%.0fus", us);
    } else if (us < 1e6) {
        (void)snprintf(out, LIVE_TIME_MAX, "%.1fms", us / 1000);
    } else {
        (void)snprintf(out, LIVE_TIME_MAX, "%.3gs", us / 1e6);
    }
    return out;
}

static void draw_bar(const struct live_model *model, const char *program, const char *domain,
                     struct screen *screen)
{
    char text[512], age[LIVE_TIME_MAX], clock[LIVE_TIME_MAX];
    int n = model->now ? snprintf(text, sizeof(text), "%s UTC  q ends ",
                                  live_view_clock(live_number(model->now, "time_ms"), clock))
                       : snprintf(text, sizeof(text), "q ends ");
    size_t right = n > 0 ? (size_t)n : 0;
    screen_put(screen, 0, screen->width > right ? screen->width - right : 0, right, SCREEN_BAR,
               text);
    if (model->now) {
        (void)snprintf(text, sizeof(text), " %s %s  %s  up %s", program,
                       live_text(model->now, "version"), domain,
                       live_view_age(live_number(model->now, "uptime_s"), age));
    } else {
        (void)snprintf(text, sizeof(text), " %s", program);
    }
    screen_put(screen, 0, 0, screen->width > right ? screen->width - right : 0, SCREEN_BAR, text);
    screen_fill(screen, 0, SCREEN_BAR);
}

/* Both rows fit a narrow terminal; the second is otherwise blank. */
static void draw_away(const struct live_model *model, const char *program, struct screen *screen)
{
    char text[1024], age[LIVE_TIME_MAX];
    (void)snprintf(text, sizeof(text), "%s at %s is gone for %s; trying every second", program,
                   model->server, live_view_age((double)model->away_ms / 1000, age));
    screen_put(screen, 1, 0, screen->width, SCREEN_BAD, text);
    (void)snprintf(text, sizeof(text), "%s%s", model->why,
                   model->now ? "; what is below is old" : "");
    screen_put(screen, 3, 0, screen->width, SCREEN_BAD, text);
}

void live_view_frame(const struct live_model *model, const char *program, const char *domain,
                     struct screen *screen)
{
    draw_bar(model, program, domain, screen);
    if (model->is_away) {
        draw_away(model, program, screen);
        return;
    }
    bool is_ready = live_flag(model->now, "ready");
    const char *reason = live_text(model->now, "reason");
    size_t used = screen_put(screen, 1, 0, screen->width,
                             is_ready && !*reason ? SCREEN_GOOD
                             : is_ready           ? SCREEN_WARN
                                                  : SCREEN_BAD,
                             is_ready ? "ready" : "not ready");
    if (*reason) {
        used += screen_put(screen, 1, used, 2, SCREEN_PLAIN, ": ");
        screen_put(screen, 1, used, screen->width - (used < screen->width ? used : screen->width),
                   is_ready ? SCREEN_WARN : SCREEN_BAD, reason);
    }
}
