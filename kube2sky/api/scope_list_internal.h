/* Lists all objects of a scope once: as events, where the server supports that, else in pages.
 *
 * As events: a watch that first sends everything, each object once, until a bookmark says so
 * (sendInitialEvents; by default in Kubernetes 1.32 and newer). Pages cost such a server more,
 * since it reads all remaining objects for each. Older servers refuse the request, and are asked
 * for pages from then on (kube_client.h).
 *
 * Owned by a reflector; on the main loop, over kube_client. */
#ifndef KUBE2SKY_API_SCOPE_LIST_INTERNAL_H
#define KUBE2SKY_API_SCOPE_LIST_INTERNAL_H

#include <stdbool.h>

#include "kube2sky/api/kube_client.h"
#include "kube2sky/api/kube_object.h"

struct reflector;
struct scope_list;

struct scope_list_config {
    struct kube_client *client; /* outlives it, like the scope's strings */
    const struct kube_resource *resource;
    struct kube_scope scope;
    int page_objects;        /* 0: one page has all */
    struct reflector *owner; /* is told (reflector_internal.h) */
};

/* Starts a list. Tells nothing yet. */
struct scope_list *scope_list_start(const struct scope_list_config *config);

/* Stops it: its owner hears no more. May be called when told of its end, not of the rest. NULL is
 * fine. */
void scope_list_stop(struct scope_list *list);

#endif
