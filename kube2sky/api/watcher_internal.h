/* Keeps one watch alive: resumes it when it ends and retries with backoff when it fails, until only
 * a list can show what it missed. Owned by a reflector, which starts it at a list's version. On the
 * main loop, over kube_client. */
#ifndef KUBE2SKY_API_WATCHER_INTERNAL_H
#define KUBE2SKY_API_WATCHER_INTERNAL_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/backoff.h"
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
    struct counter *opened;                /* counts the times that the server accepted it; outlives
                                            * it */
    /* A refusal (403, 404) that lasts ends it: another resource can replace it. */
    bool is_replaceable;

    /* Called for upserts, deletes and bad objects, in order; err is a bad one's. The watcher owns
     * the event; the callback may take its object. Bookmarks come, too, as a sign of life. */
    void (*event)(void *data, struct kube_event *event, const struct err *err);

    /* Called with NULL when the watch runs; else it is down and retried. */
    void (*state)(void *data, const struct err *err);

    /* Called when the server's storage has gone back to an older state; `lost` follows. NULL:
     * versions are not compared. */
    void (*went_back)(void *data, const struct err *err);

    /* Called when the watch is lost: list everything again. ERR_COMPACTED is normal. May stop this
     * watcher and others. */
    void (*lost)(void *data, const struct kube_failure *failure);
    void *data;
};

/* Starts a watcher. Runs no callback. */
struct watcher *watcher_start(const struct watcher_config *config, const char *version);

/* Retries at once if it waits. Do not call it inside a callback. */
void watcher_retry(struct watcher *watcher);

/* Returns the version up to which everything has been passed on; borrowed until the loop turns. */
const char *watcher_version(const struct watcher *watcher);

/* Returns the delay after a failure with this code, of a watch or a list. */
uint32_t watcher_retry_ms(const struct reflector_timing *timing, struct backoff *backoff, int code);

/* Stops it: no callback follows. May be called inside `lost`, not inside the others. NULL is
 * fine. */
void watcher_stop(struct watcher *watcher);

#endif
