#include "common/base/attributes.h"
#include "common/base/timer.h"

#include "common/etcd/etcd_catch_up_internal.h"

static void etcd_catch_up_on_timer(struct ev_loop *loop UNUSED, ev_timer *timer, int events UNUSED)
{
    struct etcd_catch_up *catch_up = timer->data;
    catch_up->is_done = true;
    catch_up->done(catch_up->data);
}

void etcd_catch_up_init(struct etcd_catch_up *catch_up, struct ev_loop *loop,
                        void (*done)(void *data), void *data)
{
    *catch_up = (struct etcd_catch_up){.loop = loop, .done = done, .data = data};
    timer_init(&catch_up->timer, etcd_catch_up_on_timer, catch_up);
    /* Runs after what has arrived is read: this process may have been stopped for the quiet
     * time. */
    ev_set_priority(&catch_up->timer, EV_MINPRI);
}

/* Calls `done` from the loop, never from here: the mirror's owner may end it in each of the
 * callbacks around this. */
static void etcd_catch_up_wait(struct etcd_catch_up *catch_up)
{
    bool has_all = catch_up->reached >= catch_up->target;
    if (catch_up->is_done || !catch_up->is_confirmed) {
        return;
    }
    ev_now_update(catch_up->loop);
    timer_arm(catch_up->loop, &catch_up->timer, has_all ? 0. : ETCD_CATCH_UP_QUIET_MS / 1000.);
}

void etcd_catch_up_begin(struct etcd_catch_up *catch_up, int64_t reached, int64_t target)
{
    etcd_catch_up_end(catch_up);
    catch_up->reached = reached;
    catch_up->target = target;
}

void etcd_catch_up_confirmed(struct etcd_catch_up *catch_up)
{
    catch_up->is_confirmed = true;
    etcd_catch_up_wait(catch_up);
}

void etcd_catch_up_reached(struct etcd_catch_up *catch_up, int64_t reached)
{
    if (reached > catch_up->reached) {
        catch_up->reached = reached;
    }
    etcd_catch_up_wait(catch_up);
}

void etcd_catch_up_end(struct etcd_catch_up *catch_up)
{
    ev_timer_stop(catch_up->loop, &catch_up->timer);
    catch_up->is_confirmed = catch_up->is_done = false;
}

void etcd_silence_init(struct etcd_silence *silence)
{
    *silence = (struct etcd_silence){.timeout_ms = ETCD_SILENCE_FIRST_MS};
}

void etcd_silence_begin(struct etcd_silence *silence)
{
    silence->unheard = 0;
}

bool etcd_silence_is_suspect(struct etcd_silence *silence, int64_t store, int64_t heard,
                             int64_t now_ms)
{
    if (store <= heard) {
        silence->unheard = 0;
        return false;
    }
    if (silence->unheard == 0 || heard >= silence->unheard) {
        silence->unheard = store;
        silence->since_ms = now_ms;
        return false;
    }
    if (now_ms - silence->since_ms < silence->timeout_ms) {
        return false;
    }
    silence->doubted = silence->unheard;
    silence->in_a_row++;
    silence->unheard = 0;
    silence->timeout_ms = silence->timeout_ms < ETCD_SILENCE_MAX_MS / 2 ? silence->timeout_ms * 2
                                                                        : ETCD_SILENCE_MAX_MS;
    return true;
}

void etcd_silence_delivered(struct etcd_silence *silence, int64_t revision)
{
    if (revision <= silence->doubted) {
        silence->timeout_ms = ETCD_SILENCE_FIRST_MS; /* the watch had missed the change */
    }
    etcd_silence_repeated(silence);
}

void etcd_silence_repeated(struct etcd_silence *silence)
{
    silence->doubted = 0;
    silence->in_a_row = 0;
}

bool etcd_silence_is_hopeless(const struct etcd_silence *silence)
{
    return silence->in_a_row > 1;
}
