/* Keeps who waits for a question in flight; and the questions that nobody waits for. */
#include "common/base/cleanup.h"
#include "skydns/upstream/flight_internal.h"

void flight_join_background(struct flight *flight)
{
    TAILQ_INSERT_TAIL(&flight->owner->background, flight, background_entry);
    counter_add(&flight->owner->counts.background, 1);
}

void flight_leave_background(struct flight *flight)
{
    TAILQ_REMOVE(&flight->owner->background, flight, background_entry);
    counter_sub(&flight->owner->counts.background, 1);
}

void flight_wait(struct flight *flight, struct forwarder_wait *wait)
{
    if (TAILQ_EMPTY(&flight->waits)) {
        flight_leave_background(flight);
    }
    flight->was_waited = true;
    wait->flight = flight;
    TAILQ_INSERT_TAIL(&flight->waits, wait, entry);
}

struct forwarder_wait *flight_next_wait(struct flight *flight)
{
    struct forwarder_wait *wait = TAILQ_FIRST(&flight->waits);
    if (wait) {
        TAILQ_REMOVE(&flight->waits, wait, entry);
        wait->flight = NULL;
    }
    return wait;
}

void forwarder_forget(struct forwarder_wait *wait)
{
    if (wait->shared) {
        reply_portions_forget(wait);
        return;
    }
    struct flight *flight = STEAL(wait->flight);
    if (!flight) {
        return;
    }
    TAILQ_REMOVE(&flight->waits, wait, entry);
    if (TAILQ_EMPTY(&flight->waits)) {
        flight_join_background(flight);
    }
}
