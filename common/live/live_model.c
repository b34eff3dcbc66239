#include "common/live/live_model.h"

#include <string.h>

static double seconds_between(const struct live_node *before, const struct live_node *now)
{
    return (live_number(now, "time_ms") - live_number(before, "time_ms")) / 1000;
}

double live_model_rate_of(const struct live_model *model, double now, double before)
{
    double seconds = model->before ? seconds_between(model->before, model->now) : 0;
    return seconds > 0 && now >= before ? (now - before) / seconds : -1;
}

static double total_of(const struct live_node *event, const char *path)
{
    const struct live_node *node = live_find(event, path);
    double total = live_value(node, 0);
    for (const char *name = NULL; (name = live_next_name(node, name)) != NULL;) {
        total += live_number(node, name);
    }
    return total;
}

double live_model_total_rate(const struct live_model *model, const char *total)
{
    return live_model_rate_of(model, total_of(model->now, total), total_of(model->before, total));
}

static void live_model_remember(struct live_model *model, double rate)
{
    if (model->history_count == LIVE_HISTORY_MAX) {
        memmove(model->history, model->history + 1,
                (LIVE_HISTORY_MAX - 1) * sizeof(model->history[0]));
        model->history_count--;
    }
    model->history[model->history_count++] = rate;
}

/* Returns whether both are events of one run: a program that started again counts from 0. */
static bool is_same_run(const struct live_node *before, const struct live_node *now)
{
    return live_number(now, "uptime_s") >= live_number(before, "uptime_s");
}

static void forget_before(struct live_model *model)
{
    live_event_free(model->before);
    live_event_free(model->past);
    live_event_free(model->newer_past);
    model->before = NULL;
    model->past = NULL;
    model->newer_past = NULL;
}

static void keep_past(struct live_model *model)
{
    if (!model->past) {
        model->past = live_event_share(model->now);
        model->newer_past = live_event_share(model->now);
    } else if (seconds_between(model->newer_past, model->now) >= LIVE_PAST_S) {
        live_event_free(model->past);
        model->past = model->newer_past;
        model->newer_past = live_event_share(model->now);
    }
}

void live_model_take(struct live_model *model, struct live_node *event, const char *total)
{
    live_event_free(model->before);
    model->before = model->now;
    model->now = event;
    if (model->before && !is_same_run(model->before, event)) {
        forget_before(model);
    }
    keep_past(model);
    double rate = live_model_total_rate(model, total);
    if (rate >= 0) {
        live_model_remember(model, rate);
    }
}

void live_model_fini(struct live_model *model)
{
    forget_before(model);
    live_event_free(model->now);
    model->now = NULL;
}
