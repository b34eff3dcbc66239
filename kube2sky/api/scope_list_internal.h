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

struct scope_list;

struct scope_list_config {
    struct kube_client *client; /* outlives it, like the scope's strings */
    const struct kube_resource *resource;
    struct kube_scope scope;
    int page_objects; /* 0: one page has all */

    void (*open)(void *data); /* called once, before the others: the server has answered 200 */
    void (*upsert)(void *data, struct kube_object *object); /* takes ownership */
    /* Called for an object that is deleted meanwhile, and may have been upserted. */
    void (*remove)(void *data, const struct kube_object *object);
    void (*bad)(void *data, const struct err *err);
    /* One of these is called, once and last; stop the list in it. After done, all objects have been
     * reported, and a watch from this version reports the rest, perhaps some of them again.
     * ERR_COMPACTED: list from the start. */
    void (*done)(void *data, const char *version);
    void (*failed)(void *data, const struct kube_failure *failure);
    void *data;
};

/* Starts a list. Runs no callback. */
struct scope_list *scope_list_start(const struct scope_list_config *config);

/* Stops it: no callback follows. May be called inside done and failed, not inside the others. NULL
 * is fine. */
void scope_list_stop(struct scope_list *list);

#endif
