/* Detects that the API's storage went back to an older state than a watch has seen: a restore from
 * a backup does that.
 *
 * The watch itself cannot tell. Requested from a version in the future, it is silent; once other
 * writes have overtaken that version, it goes on as if nothing had happened. So the check reads the
 * version of a list of at most one object (kube_object.h). Owned by a watcher, after each
 * reconnection; on the main loop, over kube_client. */
#ifndef KUBE2SKY_API_VERSION_CHECK_INTERNAL_H
#define KUBE2SKY_API_VERSION_CHECK_INTERNAL_H

#include <ev.h>
#include <stdbool.h>

#include "kube2sky/api/kube_client.h"
#include "kube2sky/api/reflector.h"

struct version_check;
struct watcher;

struct version_check_config {
    struct ev_loop *loop;
    struct kube_client *client; /* outlives it, as do the next pointers */
    const struct kube_resource *resource;
    const struct kube_scope *scope;        /* the watch's */
    const struct reflector_timing *timing; /* has the delays between attempts */
    struct watcher *owner; /* told at most once, from the loop (watcher_note_went_back) */
};

/* Starts a check. Tells nothing yet. Repeats the request until it is answered or refused. */
struct version_check *version_check_start(const struct version_check_config *config,
                                          const char *seen);

/* Stops it: its owner hears no more. NULL is fine. */
void version_check_stop(struct version_check *check);

#endif
