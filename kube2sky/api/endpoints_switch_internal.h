/* Chooses which source of endpoints a reflector lists: applies endpoints_source.h's rules over
 * time. Knows what was listed, for how long slices have been refused, and when to try them again.
 * Owned by a reflector of KUBE_ENDPOINTS; on the main loop. */
#ifndef KUBE2SKY_API_ENDPOINTS_SWITCH_INTERNAL_H
#define KUBE2SKY_API_ENDPOINTS_SWITCH_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#include "kube2sky/api/endpoints_source.h"
#include "kube2sky/api/kube_client.h"
#include "kube2sky/api/reflector.h"

struct endpoints_switch;

struct endpoints_switch_config {
    const struct reflector_config *reflector; /* outlives it, like all below */
    const struct reflector_timing *timing;
    const struct kube_scope *scopes;
    size_t scope_count;
    /* List this now, whatever is being watched. From the loop: the answer to endpoints_switch_ask,
     * or slices are permitted again. */
    void (*list)(void *data, const struct kube_resource *resource);
    void *data;
};

struct endpoints_switch *endpoints_switch_new(const struct endpoints_switch_config *config);
void endpoints_switch_free(struct endpoints_switch *s); /* NULL is fine */

/* What to list first or again; nothing is watched meanwhile. NULL: `list` will tell, after a trial
 * of the slices. */
const struct kube_resource *endpoints_switch_ask(struct endpoints_switch *s);

/* A list or watch has ended, and the watches with it. What to list instead, at once; NULL: it is an
 * ordinary failure. */
const struct kube_resource *endpoints_switch_failed(struct endpoints_switch *s,
                                                    const struct kube_resource *resource,
                                                    const struct kube_failure *failure);

/* Of a failure for which nothing is listed instead: what to tell, borrowed until the next failure.
 * Where slices are forbidden and Endpoints, in their place, are too, the permission that lacks is
 * that of the slices. */
struct endpoints_reason {
    const struct kube_resource *resource;
    const struct err *err;
};
struct endpoints_reason endpoints_switch_reason(const struct endpoints_switch *s,
                                                const struct kube_resource *resource,
                                                const struct kube_failure *failure);

/* The wait after such a failure, at most until Endpoints may take the place of slices that are
 * refused. */
uint32_t endpoints_switch_shorten(const struct endpoints_switch *s, uint32_t delay_ms);

/* A list is complete, and watched from now on. Reports whether a new source is settled. */
void endpoints_switch_listed(struct endpoints_switch *s, const struct kube_resource *resource);

/* Every watch was accepted. A list alone does not show that the source is permitted. May begin a
 * trial. */
void endpoints_switch_watched(struct endpoints_switch *s);

#endif
