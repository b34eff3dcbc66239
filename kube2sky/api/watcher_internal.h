/* One watch, kept alive: resumed where it was when it ends, opened again with back-off when it
 * fails, until what it missed can only be had from a list. One of a reflector's, which starts it at
 * the version of a list. On the main loop, over kube_client. */
#ifndef KUBE2SKY_API_WATCHER_INTERNAL_H
#define KUBE2SKY_API_WATCHER_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "kube2sky/api/kube_client.h"
#include "kube2sky/api/kube_object.h"
#include "kube2sky/api/reflector.h"

struct watcher;

struct watcher_config {
    struct ev_loop *loop;
    struct kube_client *client;
    const struct kube_resource *resource;
    struct kube_scope scope;               /* its strings outlive the watcher */
    const struct reflector_timing *timing; /* outlives it, too */
    bool is_replaceable; /* being refused (403, 404) ends it: another resource can take its place */

    /* Upserts, deletes and bad objects, in order; err is a bad one's. The event is the watcher's,
     * whoever wants its object takes it out. Bookmarks, too, for whoever wants to know that the
     * server is alive. */
    void (*event)(void *data, struct kube_event *event, const struct err *err);

    /* NULL: the watch runs. Else it does not, and is tried again. */
    void (*state)(void *data, const struct err *err);

    /* It is over: everything has to be listed again. ERR_COMPACTED: that is in order. status is the
     * HTTP status when it was refused, else 0. May stop the watcher, and others. */
    void (*lost)(void *data, int status, const struct err *err);
    void *data;
};

/* No callback comes from inside it. */
struct watcher *watcher_start(const struct watcher_config *config, const char *version);

/* No callback after it. From inside `lost` only; not from the others. NULL is fine. */
void watcher_stop(struct watcher *watcher);

uint64_t watcher_opened(const struct watcher *watcher); /* times the server has accepted it */

#endif
