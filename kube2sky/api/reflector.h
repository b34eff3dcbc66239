/* Follows one kind of object: list (paged) -> watch (bookmarks) -> list again on 410, a gap or
 * silence. On the main loop, over kube_client. Every failure is a state, retried with back-off.
 *
 * What the owner sees:
 *     list_begin  upsert*  list_end       all there is: what was known and was not upserted is gone
 *     upsert / remove                     changes, in order
 *
 * A list that fails in the middle is begun again: list_begin may follow upserts without a list_end.
 * Until the first list_end nothing is known to be absent. The same state of an object may be
 * upserted again, and an object removed that was never upserted or is gone already: after a watch
 * was resumed, or between a list and its watch.
 *
 * Several namespaces are listed one after the other, as parts of one list, and have a watch each;
 * when one of the watches is lost, all are left and everything is listed again.
 *
 *              page              last page
 *     LISTING ------> LISTING ------------> WATCHING (watcher_internal.h, each with its own
 * retries) ^  \                                | |   failed                          | 410, another
 * ERROR, an unreadable or too long event, |    v                              v two timeouts with
 * nothing heard, versions going back
 *        +- WAITING <------ LISTING at once, or after a wait when it was no 410
 */
#ifndef KUBE2SKY_API_REFLECTOR_H
#define KUBE2SKY_API_REFLECTOR_H

#include <ev.h>
#include <stdint.h>

#include "common/base/err.h"
#include "kube2sky/api/endpoints_source.h"
#include "kube2sky/api/kube_object.h"

struct kube_client;
struct reflector;

struct reflector_timing {
    /* timeoutSeconds of a watch is random between these, so that the watches of many clients do not
     * all end at once; a server sends a bookmark about once a minute. */
    int watch_min_s;
    int watch_max_s;
    /* A watch that has not ended this long after its timeout, and was silent for as long, is dead:
     * the server's own clock would have closed it. */
    uint32_t overdue_ms;
    /* Between attempts. At most 5 s: a list of everything every 5 s is no load to speak of, and a
     * server that is back should not be waited for longer. */
    uint32_t retry_first_ms;
    uint32_t retry_max_ms;
};

/* 60-120 s, 30 s, 0.1-5 s. Tests give others. */
extern const struct reflector_timing reflector_default_timing;

struct reflector_config {
    struct ev_loop *loop;
    struct kube_client *client; /* outlives the reflector */
    enum kube_kind kind;        /* KUBE_ENDPOINTS: from the source that endpoints_mode says */
    enum endpoints_mode endpoints_mode;
    const char *const *namespaces; /* borrowed until stop; none: all namespaces */
    size_t namespace_count;
    const char *label_selector;            /* borrowed until stop; NULL or "": every object */
    const struct reflector_timing *timing; /* NULL: the default; borrowed during start */

    /* kind is that of the objects: for endpoints KUBE_SLICE or KUBE_ENDPOINTS, which may change
     * from one list to the next. */
    void (*list_begin)(void *data, enum kube_kind kind);
    void (*upsert)(void *data, struct kube_object *object); /* takes ownership */
    void (*remove)(void *data, enum kube_kind kind, const char *ns, const char *name);
    void (*list_end)(void *data, enum kube_kind kind);
    /* An object that cannot be understood: logged and counted by the owner. During a list the
     * object, if known from before, must be kept as it was. name is "default/web", or "" when not
     * even that could be told: then no object of this kind is known to be absent from this list. */
    void (*bad)(void *data, enum kube_kind kind, const char *name, const struct err *err);
    /* NULL: every watch runs. Else what is wrong; it goes on trying. Not repeated while unchanged.
     * kind is the config's. */
    void (*state)(void *data, enum kube_kind kind, const struct err *err);
    void *data;
};

/* No callback comes from inside it. */
struct reflector *reflector_start(const struct reflector_config *config);

/* No callback after it; not from inside one. NULL is fine. */
void reflector_stop(struct reflector *reflector);

/* Since the start. */
struct reflector_counts {
    uint64_t lists;   /* read to their end */
    uint64_t watches; /* opened by the server */
};
struct reflector_counts reflector_counts(const struct reflector *reflector);

#endif
