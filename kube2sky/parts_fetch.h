/* Lists the Endpoints or slices of Services whose content was not kept (inventory.h): of those
 * Services only, while the watches go on. Whoever may edit a Service can demand it, so each
 * namespace has one such list at a time and begins at most one a second, for all its Services that
 * wait; one that takes long makes the next one wait, too. Owned by the feed; on the main loop.
 *
 *     want ──▶ waiting ──(its namespace's turn)──▶ asked ──▶ part(...) for each object, forgotten
 *                 ▲                                  │
 *                 └──────── failed, or wanted again ◀┘
 *
 * A Service that is wanted again while it is asked may have changed since: what that list says of
 * it is dropped. */
#ifndef KUBE2SKY_PARTS_FETCH_H
#define KUBE2SKY_PARTS_FETCH_H

#include <ev.h>
#include <stddef.h>

#include "kube2sky/api/kube_client.h"
#include "kube2sky/api/kube_object.h"

enum {
    PARTS_FETCH_PAUSE_MS = 1000, /* from one list of a namespace to its next, at least */
    PARTS_FETCH_SHARE = 10,      /* and so many times as long as the last one took */
    /* What changes together is listed together. */
    PARTS_FETCH_GATHER_MS = 20,
    /* Lists at once, of all namespaces; each has a connection. */
    PARTS_FETCHES_MAX = 8,
    /* Services named in one list, of at most 63 bytes each: below KUBE_SELECTOR_MAX. If more wait,
     * the namespace is listed as a whole, as it is for Endpoints of more than one Service, whose
     * labels do not name it. */
    PARTS_FETCH_NAMED_MAX = 100,
};

struct parts_fetch;

struct parts_fetch_config {
    struct ev_loop *loop;
    struct kube_client *client; /* outlives it */
    /* What is followed in the namespace. */
    const struct kube_resource *(*resource)(void *data, const char *ns);
    /* Endpoints or a slice of a Service that was wanted; takes it. */
    void (*part)(void *data, struct kube_object *object);
    void *data;
};

struct parts_fetch *parts_fetch_new(const struct parts_fetch_config *config);
void parts_fetch_free(struct parts_fetch *fetch); /* no callback follows; NULL is fine */

/* Runs no callback. */
void parts_fetch_want(struct parts_fetch *fetch, const char *ns, const char *service);

#endif
