/* Detects that the API's storage went back to an older state than a watch has seen: a restore from
 * a backup does that.
 *
 * The watch itself cannot tell. Requested from a version in the future, it is silent; once other
 * writes have overtaken that version, it goes on as if nothing had happened. So the check reads the
 * version of a list of at most one object (kube_object.h). Owned by a watcher, after each
 * reconnection; on the main loop, over kube_client. */
#ifndef KUBE2SKY_API_VERSION_CHECK_INTERNAL_H
#define KUBE2SKY_API_VERSION_CHECK_INTERNAL_H

struct version_check;
struct watcher;
struct watcher_config;

/* Starts a check for the watcher with this configuration, which outlives it; tells it at most once,
 * from the loop (watcher_note_went_back). Repeats the request until it is answered or refused. */
struct version_check *version_check_start(const struct watcher_config *config,
                                          struct watcher *watcher, const char *seen);

/* Stops it: its owner hears no more. NULL is fine. */
void version_check_stop(struct version_check *check);

#endif
