/* Takes what a reflector's lists, watches and choice of source tell it. Main loop. */
#ifndef KUBE2SKY_API_REFLECTOR_INTERNAL_H
#define KUBE2SKY_API_REFLECTOR_INTERNAL_H

#include "common/base/err.h"
#include "kube2sky/api/kube_client.h"
#include "kube2sky/api/kube_object.h"

struct reflector;
struct reflector_part;

/* ---- From its list (scope_list_internal.h) ---- */

/* Notes that the server has answered 200; called once, before the next three. */
void reflector_note_list_open(struct reflector *reflector);

/* Takes ownership of the object. */
void reflector_take_listed(struct reflector *reflector, struct kube_object *object);

/* Notes an object that was deleted meanwhile, and may have been taken; and a bad one. */
void reflector_note_listed_gone(struct reflector *reflector, const struct kube_object *object);
void reflector_note_listed_bad(struct reflector *reflector, const struct err *err);

/* End the list, once and last; they stop it. After the first one, all objects have been taken, and
 * a watch from this version reports the rest, perhaps some of them again. ERR_COMPACTED: the list
 * begins anew. */
void reflector_end_list(struct reflector *reflector, const char *version);
void reflector_fail_list(struct reflector *reflector, const struct kube_failure *failure);

/* ---- From the watch of a part (watcher_internal.h) ---- */

/* Takes upserts, deletes and bad objects, in order; err is a bad one's. The watcher owns the event;
 * its object may be taken. Bookmarks come, too, as a sign of life. */
void reflector_take_event(struct reflector_part *part, struct kube_event *event,
                          const struct err *err);

/* Notes that the watch runs, with NULL; else it is down and retried. */
void reflector_note_watch(struct reflector_part *part, const struct err *err);

/* Notes that the server's storage has gone back to an older state; reflector_lose_watch follows. */
void reflector_note_went_back(struct reflector_part *part, const struct err *err);

/* Lists everything again: the watch is lost. ERR_COMPACTED is normal. Stops it, and others. */
void reflector_lose_watch(struct reflector_part *part, const struct kube_failure *failure);

/* ---- From the choice of its source (endpoints_source_internal.h) ---- */

/* Lists this now, whatever is being watched. */
void reflector_list_source(struct reflector *reflector, const struct kube_resource *resource);

#endif
