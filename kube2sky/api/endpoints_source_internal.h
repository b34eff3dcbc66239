/* Chooses the source of endpoints that a reflector lists: applies endpoints_source.h's rules over
 * time. It knows the last source, how long slices have been refused, and when to probe them again.
 * Owned by a reflector of KUBE_ENDPOINTS; on the main loop. */
#ifndef KUBE2SKY_API_ENDPOINTS_SOURCE_INTERNAL_H
#define KUBE2SKY_API_ENDPOINTS_SOURCE_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#include "kube2sky/api/endpoints_source.h"
#include "kube2sky/api/kube_client.h"
#include "kube2sky/api/reflector.h"

struct endpoints_switch;

struct endpoints_switch_config {
    /* Told to list a source now, whatever is being watched (reflector_list_source): as the answer
     * to endpoints_switch_ask, or when slices are permitted again. */
    struct reflector *owner;
    const struct reflector_config *reflector; /* outlives it, as do the next pointers */
    const struct reflector_timing *timing;
    const struct kube_scope *scopes;
    size_t scope_count; /* at least one */
};

struct endpoints_switch *endpoints_switch_new(const struct endpoints_switch_config *config);
void endpoints_switch_free(struct endpoints_switch *s); /* NULL is fine */

/* Returns the resource to list first or again; nothing is watched meanwhile. NULL: the
 * owner is told after a probe of the slices. */
const struct kube_resource *endpoints_switch_ask(struct endpoints_switch *s);

/* Notes that a list or watch has failed, and the watches with it. Returns the resource to list
 * instead, at once; NULL: it is an ordinary failure. */
const struct kube_resource *endpoints_switch_failed(struct endpoints_switch *s,
                                                    const struct kube_resource *resource,
                                                    const struct kube_failure *failure);

/* Returns the reason to report for a failure without a replacement, borrowed until the next
 * failure. If slices are forbidden and Endpoints, in their place, are too, that is the missing
 * permission for slices. */
struct endpoints_reason {
    const struct kube_resource *resource;
    const struct err *err;
};
struct endpoints_reason endpoints_switch_reason(const struct endpoints_switch *s,
                                                const struct kube_resource *resource,
                                                const struct kube_failure *failure);

/* Shortens the delay after such a failure: to the time when Endpoints may replace refused
 * slices. */
uint32_t endpoints_switch_shorten(const struct endpoints_switch *s, uint32_t delay_ms);

/* Notes that a list is complete, and watched from now on. Reports whether a new source is
 * settled. */
void endpoints_switch_listed(struct endpoints_switch *s, const struct kube_resource *resource);

/* Notes that every watch was accepted, since a list alone does not show that the source is
 * permitted. May begin a probe. */
void endpoints_switch_watched(struct endpoints_switch *s);

#endif
