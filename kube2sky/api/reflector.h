/* Follows one kind of object: list (scope_list_internal.h) -> watch (bookmarks) -> list again on
 * 410, a gap or silence. On the main loop, over kube_client. Failures are states, retried with
 * backoff.
 *
 * Callbacks:
 *     list_begin  upsert*  list_end       everything: known objects without an upsert are gone
 *     upsert / remove                     changes, in order
 *
 * A list that fails midway starts over: list_begin may follow upserts without a list_end. Before
 * the first list_end nothing is known to be absent. After a watch was resumed, or between a list
 * and its watch, an object may be upserted again in the same state, and removed without being
 * known.
 *
 * Several namespaces are listed in turn, as parts of one list, and have a watch each; if one watch
 * is lost, all are dropped and everything is listed again.
 *
 *           a namespace        the last one
 *     LISTING ------> LISTING ------------> WATCHING (each watch retries by itself: watcher.c)
 *        ^  \                                |
 *        |   failed                          | 410, another ERROR, an unreadable or too long event,
 *        |    v                              v versions going back, an hour
 *        +- WAITING <------ WAITING, or LISTING at once after the first 410
 *
 * The backoff grows until nothing has failed for a while: a watch that brings one event and fails
 * is no success. An overloaded server says how long to wait (Retry-After). One that refuses is
 * asked at growing intervals, up to a minute.
 *
 * With ENDPOINTS_AUTO the source of endpoints can change (endpoints_source.h). While Endpoints are
 * followed in place of slices, the slices are probed now and then, and before each list. */
#ifndef KUBE2SKY_API_REFLECTOR_H
#define KUBE2SKY_API_REFLECTOR_H

#include <ev.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/metrics.h"
#include "kube2sky/api/endpoints_source.h"
#include "kube2sky/api/kube_object.h"

struct kube_client;
struct reflector;

struct reflector_timing {
    /* A watch's timeoutSeconds is random between these, so that many clients' watches do not end at
     * once. */
    int watch_min_s;
    int watch_max_s;
    /* Times that detect a hung server, whose kernel keeps its connections open. A watch over HTTP/2
     * that has been silent for silent_ms asks the server on its own connection. Without an answer
     * it is in doubt after doubt_ms, which is reported, and given up after lost_ms. Over HTTP/1.1
     * it is requested again, over a new connection, after renew_ms and up to a fifth more: longer
     * than from one bookmark to the next. open_ms limits the time until a watch is accepted. */
    uint32_t silent_ms;
    uint32_t doubt_ms;
    uint32_t lost_ms;
    uint32_t renew_ms;
    uint32_t open_ms;
    /* Everything is listed again and compared after this time, and up to a fifth more, so that no
     * divergence lasts. 0: never. */
    uint32_t relist_ms;
    /* Delays between attempts, at most 5 s: a full list every 5 s is little load, and a recovered
     * server should be used soon. */
    uint32_t retry_first_ms;
    uint32_t retry_max_ms;
    /* The longest delay while the server refuses: that lasts until a person acts. */
    uint32_t refused_max_ms;
    /* After this time without a failure, the next one counts as the first. Several times the
     * longest delay. */
    uint32_t calm_ms;
    /* Time for which a refusal of slices that were listed counts as an outage. The RBAC of a
     * started server is warm well within a minute. */
    uint32_t refused_ms;
    /* Time for which a refused watch, after a successful list, may be due to a server that has just
     * started. It is requested again from the same version meanwhile, and nothing is listed. */
    uint32_t cold_ms;
    /* Time between two probes of slices, and from a change of source until it is settled. */
    uint32_t probe_ms;
};

/* Belongs to the owner, and may outlive the reflector. */
struct reflector_counts {
    struct counter lists;   /* completed */
    struct counter watches; /* watches that the server accepted */
};

struct reflector_config {
    struct ev_loop *loop;
    struct reflector_counts *counts; /* borrowed until stop */
    struct kube_client *client;      /* outlives the reflector */
    enum kube_kind kind;             /* KUBE_ENDPOINTS: the source that endpoints_mode selects */
    enum endpoints_mode endpoints_mode;
    const char *const *namespaces; /* borrowed until stop; none: all namespaces */
    size_t namespace_count;
    const char *label_selector; /* borrowed until stop; NULL or "": every object */
    const char *object; /* borrowed until stop; only the object of this name; NULL: every object */
    const struct reflector_timing *timing; /* NULL: the defaults in reflector.c; borrowed during
                                            * start */

    /* Called when a list begins. kind is the objects': for endpoints KUBE_SLICE or KUBE_ENDPOINTS,
     * which may change between lists. */
    void (*list_begin)(void *data, enum kube_kind kind);
    void (*upsert)(void *data, struct kube_object *object); /* takes ownership */
    /* version: the object's when it was deleted; "": not known. */
    void (*remove)(void *data, enum kube_kind kind, const char *ns, const char *name,
                   const char *version);
    void (*list_end)(void *data, enum kube_kind kind);
    /* Called for KUBE_ENDPOINTS only, with whether endpoints that the source lacks do not exist
     * (endpoints_source.h). It comes before the list_end of another source, or of Endpoints chosen
     * in place of slices; then at each change. Until the first call, true holds. */
    void (*settled)(void *data, bool is_settled);
    /* Called when the server's storage has gone back to an older state, as after a restore from a
     * backup: known objects of other kinds may be wrong, too. This kind is listed again. NULL:
     * versions are not compared after reconnections. */
    void (*went_back)(void *data, enum kube_kind kind, const struct err *err);
    /* Called for an object without a known name, which is dropped; one with a name is upserted,
     * garbled. */
    void (*bad)(void *data, enum kube_kind kind, const struct err *err);
    /* Called with NULL when every watch runs; else with the error, while it retries. An unchanged
     * error is not repeated, except ERR_REFUSED: a refusal by a server that has just started says
     * little. kind is the config's; resource is the plural of the followed resource, endpoints or
     * endpointslices. */
    void (*state)(void *data, enum kube_kind kind, const char *resource, const struct err *err);
    void *data;
};

/* Starts a reflector. Runs no callback. */
struct reflector *reflector_start(const struct reflector_config *config);

/* Returns the resource that it lists or follows; a constant. */
const struct kube_resource *reflector_resource(const struct reflector *reflector);

/* Returns the version up to which everything in the only namespace, or in all of them as one, has
 * been passed on: the list's, then that of each event and bookmark. NULL: a list is under way.
 * Borrowed until the loop turns. */
const char *reflector_version(const struct reflector *reflector);

/* Lists everything again, at once. Do not call it inside a callback. */
void reflector_relist(struct reflector *reflector);

/* Retries at once if it waits: the server may permit now what it refused. Do not call it inside a
 * callback. */
void reflector_retry(struct reflector *reflector);

/* Stops it: no callback follows. Do not call it inside a callback. NULL is fine. */
void reflector_stop(struct reflector *reflector);

#endif
