/* Whether etcd can be followed and written to, and for how long not: one log line when that changes
 * and one when it has lasted longer than --etcd-mutation-timeout. It decides nothing: the
 * reconciler goes on trying whatever this says. On the main loop. */
#ifndef KUBE2SKY_ETCD_HEALTH_H
#define KUBE2SKY_ETCD_HEALTH_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/slice.h"

struct etcd_health {
    struct ev_loop *loop;
    ev_timer patience; /* active while failing and not yet over */
    int64_t patience_ms;
    bool is_followed; /* the mirror's watch is up */
    bool is_refusing; /* the last transaction failed */
    bool is_overdue;  /* it has been failing for longer than the patience */
    struct err last;  /* what was wrong last; msg "" = nothing yet */
};

/* Counts as failing until followed. */
void etcd_health_init(struct etcd_health *health, struct ev_loop *loop, int64_t patience_ms);
void etcd_health_fini(struct etcd_health *health);

/* The outcome of following, and of a transaction; err NULL: well. */
void etcd_health_followed(struct etcd_health *health, const struct err *err);
void etcd_health_written(struct etcd_health *health, const struct err *err);

/* A transaction of this service alone was refused again: no news about etcd. */
void etcd_health_refused_again(struct etcd_health *health, struct slice service,
                               const struct err *err);

#endif
