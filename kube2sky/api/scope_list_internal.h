/* Lists all objects of a scope once: as events, where the server knows that, else in pages.
 *
 * As events: a watch that first sends everything, each object once, until a bookmark says so
 * (sendInitialEvents; by default in Kubernetes 1.32 and newer). Pages cost such a server more,
 * since it reads for each all that remains. Older servers refuse the request, and are asked for
 * pages from then on (kube_client.h).
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
    int page_objects; /* 0: all on one page */

    void (*open)(void *data); /* once, before the others: the server has answered 200 */
    void (*upsert)(void *data, struct kube_object *object); /* takes ownership */
    /* What is deleted meanwhile, and may have been upserted. */
    void (*remove)(void *data, const struct kube_object *object);
    void (*bad)(void *data, const struct err *err);
    /* Either, once, last; stop it in there. Everything was told, and a watch from this version
     * tells the rest; what it tells may repeat what was told. ERR_COMPACTED: list from the start.
     */
    void (*done)(void *data, const char *version);
    void (*failed)(void *data, const struct kube_failure *failure);
    void *data;
};

/* Runs no callback. */
struct scope_list *scope_list_start(const struct scope_list_config *config);

/* No callback follows. May be called inside done and failed, not inside the others. NULL is fine.
 */
void scope_list_stop(struct scope_list *list);

#endif
