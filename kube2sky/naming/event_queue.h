/* Decides which Kubernetes Events to write, and when: for each object and reason one, from all the
 * places that find faults. PURE but for memory: the caller passes the time, and writes
 * (event_writer.h). On the main loop.
 *
 *     a fault is found   -> create the event
 *     it is found again  -> once a minute at most: tell the count
 *     it stays           -> each half hour: tell that it stays, since API servers drop events
 *                           after an hour
 *     it is gone         -> forget it
 *
 * API servers keep events in the cluster's etcd. So a namespace has at most 10 writes a minute and
 * all have 60, in any minute; namespaces take turns. Faults beyond EVENT_QUEUE_MAX are left out and
 * counted: those of the namespace that has most. */
#ifndef KUBE2SKY_NAMING_EVENT_QUEUE_H
#define KUBE2SKY_NAMING_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"
#include "kube2sky/api/kube_object.h"

enum event_reason {
    EVENT_INVALID_PORT,
    EVENT_INVALID_ANNOTATION,
    EVENT_ALIAS_TAKEN,
    EVENT_ALIAS_NOT_ALLOWED,
    EVENT_TOO_MANY_RECORDS,
    EVENT_REVERSE_NAME_TAKEN,
};

/* Returns "InvalidPort", ...; constant. */
const char *event_reason_name(enum event_reason reason);

/* Names the place that finds a fault: it ends when all places that found it say so. A route's names
 * are claimed at several Gateways: EVENT_FROM_GATEWAYS and the numbers after it, up to 31. */
enum event_place {
    EVENT_FROM_OBJECT,  /* decoded, or named */
    EVENT_FROM_PLAN,    /* of its records */
    EVENT_FROM_ALIASES, /* claims of external names */
    EVENT_FROM_ALIASES_PLAN,
    EVENT_FROM_GATEWAYS,
    EVENT_PLACES_MAX = 32,
};

enum {
    EVENT_MINUTE_MS = 60 * 1000,
    EVENT_WRITES_PER_MINUTE = 60,
    EVENT_NAMESPACE_WRITES_PER_MINUTE = 10,
    EVENT_REPEAT_MS = EVENT_MINUTE_MS,        /* between two writes of an event */
    EVENT_STANDING_MS = 30 * EVENT_MINUTE_MS, /* the same, if it was not found again */
    EVENT_REFUSED_MS = 10 * EVENT_MINUTE_MS,  /* between two attempts that are not permitted */
    EVENT_QUEUE_MAX = 4096,                   /* faults; with their notes 3 MB */
    EVENT_NOTE_MAX = 340, /* bytes; the API allows 1,024, and an odd byte becomes three */
};

struct event_queue;

struct event_queue *event_queue_new(void);
void event_queue_free(struct event_queue *queue); /* NULL is fine */

/* Names a Service, an Ingress or a route. */
struct event_object {
    enum kube_kind kind;
    struct slice ns;
    struct slice name;
};

/* Notes that the place has found the fault, once more, or (note NULL) that it does not find it. The
 * note, copied and cut, is what a person reads; of several places' notes, the first stays. */
void event_queue_note(struct event_queue *queue, const struct event_object *object,
                      enum event_reason reason, unsigned place, const char *note, int64_t now_ms);

/* Finds the object of an owner or of a claim on external names: "svc/default/web",
 * "alias/default/web", "ingress/default/shop", "httproute/default/shop via infra/public". Returns
 * false for other ids. Borrowed from the id. */
bool event_object_of(struct slice id, struct event_object *ret_object);

/* Describes a write; its texts are borrowed until the next event_queue_note. */
struct event_write {
    struct event_object object;
    enum event_reason reason;
    const char *note;
    bool is_created;  /* its series is to be changed; else it is to be created */
    uint64_t event;   /* as last passed to event_queue_done; 0: none yet */
    uint32_t count;   /* times that it was found */
    int64_t found_ms; /* first, and last; as passed to event_queue_note */
    int64_t last_ms;
};

/* Returns the next write that may begin now, if any; then event_queue_done must follow, and there
 * is no next one before. */
bool event_queue_next(struct event_queue *queue, int64_t now_ms, struct event_write *ret_write);

enum event_outcome {
    EVENT_WRITTEN,
    EVENT_EXISTS,  /* was to be created, and is there: its series is to be changed */
    EVENT_MISSING, /* its series was to be changed, and it is not there: it is to be created */
    EVENT_FAILED,  /* is tried again */
    EVENT_REFUSED, /* the namespace's events are not permitted: it waits for EVENT_REFUSED_MS */
    EVENT_USELESS, /* it cannot be written: the object is gone */
};

/* Ends the write. `event` identifies the event for the writer: if its object has been created anew,
 * that is another event. */
void event_queue_done(struct event_queue *queue, enum event_outcome outcome, uint64_t event,
                      int64_t now_ms);

/* Returns the time until event_queue_next may have a write; -1: no fault is known. */
int64_t event_queue_wait_ms(const struct event_queue *queue, int64_t now_ms);

/* Returns whether something was noted since the last call. */
bool event_queue_take_news(struct event_queue *queue);

struct event_queue_counts {
    size_t known;      /* faults */
    size_t waiting;    /* of them, those not written yet */
    uint64_t left_out; /* since the process started */
};
struct event_queue_counts event_queue_count(const struct event_queue *queue);

#endif
