/* Finds how far back etcd's history goes: the oldest revision that has not been compacted. etcd
 * says so when a watch is to begin before it. Main loop. */
#ifndef SKYDNS_PAST_PAST_HORIZON_INTERNAL_H
#define SKYDNS_PAST_PAST_HORIZON_INTERNAL_H

#include <ev.h>
#include <stdint.h>

#include "common/base/slice.h"

struct etcd;
struct past_horizon;

struct past_horizon_config {
    struct ev_loop *loop;
    struct etcd *etcd;
    struct slice prefix; /* of keys that may be read; copied */
    /* Called once, from the loop. 1: nothing has been compacted; 0: it is not known. */
    void (*done)(void *data, int64_t oldest);
    void *data;
};

struct past_horizon *past_horizon_find(const struct past_horizon_config *config);
void past_horizon_free(struct past_horizon *horizon); /* at any time; NULL is fine */

#endif
