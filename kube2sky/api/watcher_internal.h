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

struct reflector_part;
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
    bool compares_versions;       /* after a reconnection (version_check_internal.h) */
    struct reflector_part *owner; /* is told (reflector_internal.h) */
};

/* Starts a watcher. Tells nothing yet. */
struct watcher *watcher_start(const struct watcher_config *config, const char *version);

/* Retries at once if it waits. Not for its owner when told something. */
void watcher_retry(struct watcher *watcher);

/* Returns the version up to which everything has been passed on; borrowed until the loop turns. */
const char *watcher_version(const struct watcher *watcher);

/* Returns the delay after a failure with this code, of a watch or a list. */
uint32_t watcher_retry_ms(const struct reflector_timing *timing, struct backoff *backoff, int code);

/* Ends the watch: the server's version is before the one that was seen. The version check's. */
void watcher_note_went_back(struct watcher *watcher, const char *seen, const char *now);

/* Stops it: its owner hears no more. May be called when told that it is lost, not of the rest. NULL
 * is fine. */
void watcher_stop(struct watcher *watcher);

#endif
