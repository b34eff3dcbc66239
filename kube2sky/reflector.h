/* Follows one kind of object: list (paged) -> watch (bookmarks) -> list again on 410, a gap or
 * silence. On the main loop, over kube_client. Every failure is a state, retried with back-off.
 *
 * What the owner sees:
 *     list_begin  upsert*  list_end       all there is: what was known and was not upserted is gone
 *     upsert / remove                     changes, in order
 *
 * A list that fails in the middle is begun again: list_begin may follow upserts without a list_end.
 * Until the first list_end nothing is known to be absent. */
#ifndef KUBE2SKY_REFLECTOR_H
#define KUBE2SKY_REFLECTOR_H

#include <ev.h>

#include "common/err.h"
#include "kube2sky/kube_object.h"

struct kube_client;
struct reflector;

struct reflector_config {
    struct ev_loop *loop;
    struct kube_client *client; /* outlives the reflector */
    enum kube_kind kind;

    void (*list_begin)(void *data, enum kube_kind kind);
    void (*upsert)(void *data, struct kube_object *object); /* takes ownership */
    void (*remove)(void *data, enum kube_kind kind, const char *ns, const char *name);
    void (*list_end)(void *data, enum kube_kind kind);
    /* An object that cannot be understood: logged and counted by the owner. During a list the
     * object, if known from before, must be kept as it was. */
    void (*bad)(void *data, enum kube_kind kind, const char *name, const struct err *err);
    /* NULL: the watch runs. Else what is wrong; it goes on trying. Not repeated while unchanged. */
    void (*state)(void *data, enum kube_kind kind, const struct err *err);
    void *data;
};

struct reflector *reflector_start(const struct reflector_config *config);
void reflector_stop(struct reflector *reflector); /* no callback after it; NULL is fine */

#endif
