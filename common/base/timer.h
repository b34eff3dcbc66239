/* Initializes and arms timers of libev. On the loop's thread. */
#ifndef COMMON_BASE_TIMER_H
#define COMMON_BASE_TIMER_H

#include <ev.h>
#include <stdint.h>

/* Initializes a timer whose callback finds its owner in `data`. */
static inline void timer_init(ev_timer *timer, void (*callback)(struct ev_loop *, ev_timer *, int),
                              void *owner)
{
    ev_init(timer, callback);
    timer->data = owner;
}

/* Does the same for a timer that runs again and again once it is started. */
static inline void timer_init_every(ev_timer *timer,
                                    void (*callback)(struct ev_loop *, ev_timer *, int),
                                    void *owner, double period_s)
{
    timer_init(timer, callback, owner);
    ev_timer_set(timer, period_s, period_s);
}

/* Arms the timer, active or not; a time that has passed is at once. Counts from the beginning
 * of this turn of the loop: where work may have taken long, the caller calls ev_now_update first.
 */
static inline void timer_arm(struct ev_loop *loop, ev_timer *timer, double after_s)
{
    ev_timer_stop(loop, timer);
    ev_timer_set(timer, after_s > 0. ? after_s : 0., 0.);
    ev_timer_start(loop, timer);
}

static inline void timer_arm_ms(struct ev_loop *loop, ev_timer *timer, int64_t after_ms)
{
    timer_arm(loop, timer, (double)after_ms / 1000.0);
}

#endif
