#include "kube2sky/reconcile/refusal_internal.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "common/base/attributes.h"
#include "common/base/backoff.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/timer.h"
#include "common/base/xalloc.h"

enum { BETWEEN_RETRIES_MS = 1000 };

struct refusal {
    struct refusals *refusals;
    struct owner *owner;
    LIST_ENTRY(refusal) entry;
    ev_timer timer; /* active while the owner backs off */
    struct backoff backoff;
};

struct refusals {
    struct refusals_config config;
    LIST_HEAD(, refusal) all;
    size_t count;
    size_t of_class[OWNER_CLASSES];
    size_t in_a_row;
    int64_t retried_ms;
};

struct refusals *refusals_new(const struct refusals_config *config)
{
    struct refusals *refusals = xcalloc(1, sizeof(*refusals));
    refusals->config = *config;
    return refusals;
}

static void refusal_forget(struct refusal *refusal)
{
    struct refusals *refusals = refusal->refusals;
    ev_timer_stop(refusals->config.loop, &refusal->timer);
    LIST_REMOVE(refusal, entry);
    refusals->count--;
    refusals->of_class[refusal->owner->class]--;
    refusal->owner->refusal = NULL;
    free(refusal);
}

void refusals_free(struct refusals *refusals)
{
    if (!refusals) {
        return;
    }
    while (!LIST_EMPTY(&refusals->all)) {
        refusal_forget(LIST_FIRST(&refusals->all));
    }
    free(refusals);
}

static void refusal_on_timer(struct ev_loop *loop UNUSED, ev_timer *timer, int revents UNUSED)
{
    struct refusal *refusal = timer->data;
    const struct refusals_config *config = &refusal->refusals->config;
    config->due(config->data, refusal->owner);
}

static struct refusal *refusal_begin(struct refusals *refusals, struct owner *owner)
{
    struct refusal *refusal = xcalloc(1, sizeof(*refusal));
    refusal->refusals = refusals;
    refusal->owner = owner;
    LIST_INSERT_HEAD(&refusals->all, refusal, entry);
    refusals->count++;
    refusals->of_class[owner->class]++;
    backoff_init(&refusal->backoff, BACKOFF_REMOTE_FIRST_MS, BACKOFF_REFUSED_MAX_MS);
    timer_init(&refusal->timer, refusal_on_timer, refusal);
    owner->refusal = refusal;
    return refusal;
}

void refusal_wait(struct refusals *refusals, struct owner *owner)
{
    struct ev_loop *loop = refusals->config.loop;
    struct refusal *refusal = owner->refusal ? owner->refusal : refusal_begin(refusals, owner);
    size_t share_ms = REFUSAL_SHARE_MS * refusals->count;
    size_t wait_ms = backoff_next_ms(&refusal->backoff, backoff_random());
    wait_ms = wait_ms > share_ms ? wait_ms : share_ms;
    refusals->in_a_row++;
    log_debug("refused service backs off", LOG_SLICE("owner", owner->id),
              LOG_INT("retry_ms", (int64_t)wait_ms), LOG_INT("refused", (int64_t)refusals->count));
    ev_now_update(loop);
    timer_arm_ms(loop, &refusal->timer, wait_ms);
}

bool refusal_is_waiting(const struct owner *owner)
{
    return owner->refusal && ev_is_active(&owner->refusal->timer);
}

int64_t refusal_wait_ms(const struct owner *owner)
{
    struct refusal *refusal = owner->refusal;
    if (!refusal || !ev_is_active(&refusal->timer)) {
        return 0;
    }
    return (int64_t)(ev_timer_remaining(refusal->refusals->config.loop, &refusal->timer) * 1000.0);
}

size_t refusals_of(const struct refusals *refusals, enum owner_class class)
{
    return refusals->of_class[class];
}

void refusal_end(struct refusals *refusals, struct owner *owner)
{
    refusals->in_a_row = 0;
    if (owner->refusal) {
        refusal_forget(owner->refusal);
    }
}

void refusals_retry(struct refusals *refusals)
{
    const struct refusals_config *config = &refusals->config;
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms - refusals->retried_ms < BETWEEN_RETRIES_MS) {
        return;
    }
    refusals->retried_ms = now_ms;
    struct refusal *r;
    LIST_FOREACH(r, &refusals->all, entry)
    {
        if (ev_is_active(&r->timer)) {
            ev_timer_stop(config->loop, &r->timer);
            config->due(config->data, r->owner);
        }
    }
}

bool refusals_are_general(const struct refusals *refusals)
{
    return refusals->in_a_row >= REFUSALS_AT_ONCE;
}
