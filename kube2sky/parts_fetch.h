/* Lists the Endpoints or slices of Services whose content was not stored (inventory.h): of those
 * Services only, while the watches go on. A user who may edit a Service can cause that. So each
 * namespace has one such list at a time, for all its waiting Services, and begins at most one a
 * second; after a long list it waits longer. Owned by the source; on the main loop.
 *
 *     want ──▶ waiting ──(its namespace's turn)──▶ asked ──▶ part(...) for each object, forgotten
 *                 ▲                                  │
 *                 └──────── failed, or wanted again ◀┘
 *
 * A Service that is wanted again while a list names it may have changed since: that list's objects
 * of it are dropped. */
#ifndef KUBE2SKY_PARTS_FETCH_H
#define KUBE2SKY_PARTS_FETCH_H

#include <ev.h>
#include <stddef.h>

#include "kube2sky/api/kube_client.h"
#include "kube2sky/api/kube_object.h"

enum {
    PARTS_FETCH_PAUSE_MS = 1000, /* least time between two lists of a namespace */
    PARTS_FETCH_SHARE = 10,      /* and at least this times the duration of the last list */
    /* Changes within this time are listed together. */
    PARTS_FETCH_GATHER_MS = 20,
    /* Lists at once, of all namespaces; each has a connection. */
    PARTS_FETCHES_MAX = 8,
    /* Services named in one list, of at most 63 bytes each: below KUBE_SELECTOR_MAX. If more wait,
     * the whole namespace is listed. So it is for Endpoints of more than one Service, whose labels
     * do not name it. */
    PARTS_FETCH_NAMED_MAX = 100,
};

struct parts_fetch;

struct parts_fetch_config {
    struct ev_loop *loop;
    struct kube_client *client; /* outlives it */
    /* Returns the resource that is followed in the namespace. */
    const struct kube_resource *(*resource)(void *data, const char *ns);
    /* Called with Endpoints or a slice of a wanted Service; takes it. */
    void (*part)(void *data, struct kube_object *object);
    void *data;
};

struct parts_fetch *parts_fetch_new(const struct parts_fetch_config *config);
void parts_fetch_free(struct parts_fetch *fetch); /* no callback follows; NULL is fine */

/* Lists the Service's parts soon. Runs no callback. */
void parts_fetch_want(struct parts_fetch *fetch, const char *ns, const char *service);

#endif
