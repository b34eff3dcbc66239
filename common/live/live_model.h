/* Holds what a view shows: the last two events of a stream, rates between them, and a history of
 * one rate. Pure but for memory; one thread. */
#ifndef COMMON_LIVE_LIVE_MODEL_H
#define COMMON_LIVE_LIVE_MODEL_H

#include <stdint.h>

#include "common/live/live_event.h"

/* Holds five minutes at one event a second: more columns than most terminals have. */
enum { LIVE_HISTORY_MAX = 300 };

enum { LIVE_PAST_S = 30 };

struct live_model {
    const char *server;       /* the program that sends the events, to show */
    struct live_node *now;    /* owned; NULL: none yet */
    struct live_node *before; /* owned; NULL: none, or another run's, so there are no rates */
    struct live_node *past; /* owned: from LIVE_PAST_S to twice as long ago, or the first; for what
                               is too rare to be seen between two */
    struct live_node *newer_past;     /* owned: the next one */
    double history[LIVE_HISTORY_MAX]; /* the latest last */
    size_t history_count;
    bool is_away; /* the program is silent */
    int64_t away_ms;
    const char *why; /* with is_away */
};

/* Adds an event and takes ownership of it. `total` is the path of the counter, or of an object of
 * counters to add, whose rates the history has. */
void live_model_take(struct live_model *model, struct live_node *event, const char *total);
void live_model_fini(struct live_model *model);

/* Returns the rate between two readings of a counter, in both events: per second, by the events'
 * times; negative: not known. */
double live_model_rate_of(const struct live_model *model, double now, double before);

/* Returns the rate of such a total. */
double live_model_total_rate(const struct live_model *model, const char *total);

#endif
