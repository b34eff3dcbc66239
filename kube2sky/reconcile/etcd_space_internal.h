/* How full etcd is: its refusals for want of space, and before that the size of its database, which
 * is looked at about once a minute and compared with the quota that --etcd-space tells. Nothing is
 * refused here: a shortage shows in the log, once, in /readiness?strict, /explain and metrics.
 *
 * Asked is the member that transactions go to; each has a file of its own. An etcd whose user may
 * not ask is told once, and has no figures. On the main loop. */
#ifndef KUBE2SKY_RECONCILE_ETCD_SPACE_INTERNAL_H
#define KUBE2SKY_RECONCILE_ETCD_SPACE_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "kube2sky/reconcile/reconciler.h"

struct err;
struct etcd;
struct etcd_space;

/* Of the quota, in percent: beyond that, space is short. etcd's file never shrinks by itself. */
enum { ETCD_SPACE_SHORT_PERCENT = 80 };

struct etcd_space_config {
    struct ev_loop *loop;
    struct etcd *etcd;    /* outlives it */
    uint64_t quota_bytes; /* 0: without limit */
};

/* Looks at once, and then again and again. */
struct etcd_space *etcd_space_start(const struct etcd_space_config *config);
void etcd_space_stop(struct etcd_space *space); /* NULL is fine */

/* A transaction was acknowledged (err NULL), or has failed. */
void etcd_space_note_write(struct etcd_space *space, const struct err *err);

struct etcd_space_figures etcd_space_figures(const struct etcd_space *space);

/* What is wrong and what to do, as a constant; NULL: nothing is. */
const char *etcd_space_refusal(const struct etcd_space *space);
const char *etcd_space_shortage(const struct etcd_space *space);

#endif
