/* Tells how full etcd is, by its refusals for want of space and by the size of its database. The
 * size is read about once a minute and compared with the quota of --etcd-space. Nothing is refused
 * here: a shortage shows in the log, once, in /readiness?strict, /explain and metrics.
 *
 * The request goes to the member that gets the transactions; each member has a file of its own. An
 * etcd that denies the request is logged once, and has no figures. On the main loop. */
#ifndef KUBE2SKY_RECONCILE_ETCD_SPACE_INTERNAL_H
#define KUBE2SKY_RECONCILE_ETCD_SPACE_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "kube2sky/reconcile/reconciler.h"

struct err;
struct etcd;
struct etcd_space;

/* Space is short above this percentage of the quota. etcd's file never shrinks by itself. */
enum { ETCD_SPACE_SHORT_PERCENT = 80 };

struct etcd_space_config {
    struct ev_loop *loop;
    struct etcd *etcd;    /* outlives it */
    uint64_t quota_bytes; /* 0: without limit */
};

/* Reads the size at once, and then about once a minute. */
struct etcd_space *etcd_space_start(const struct etcd_space_config *config);
void etcd_space_stop(struct etcd_space *space); /* NULL is fine */

/* Notes that a transaction was acknowledged (err NULL) or has failed. */
void etcd_space_note_write(struct etcd_space *space, const struct err *err);

struct etcd_space_figures etcd_space_figures(const struct etcd_space *space);

/* Return the problem and its remedy, as a constant; NULL: there is no problem. */
const char *etcd_space_refusal(const struct etcd_space *space);
const char *etcd_space_shortage(const struct etcd_space *space);

#endif
