/* Writes the Warning events that event_queue.h decides on, with the reflectors' client and
 * credentials: one request at a time, only while this process leads. An event that another process
 * has written, before a restart or as the leader, has the same name: its series goes on.
 *
 * A failure is logged once, until a write succeeds. Without permission (the role needs create and
 * patch of events.k8s.io) it tries again each EVENT_REFUSED_MS; nothing else waits for that. While
 * the API is away it backs off. On the main loop. */
#ifndef KUBE2SKY_EVENT_WRITER_H
#define KUBE2SKY_EVENT_WRITER_H

#include <ev.h>
#include <stdint.h>

#include "kube2sky/naming/event_queue.h"

struct event_writer;
struct kube_client;
struct kube_source;
struct reconciler;

/* All outlive the writer. */
struct event_writer_config {
    struct ev_loop *loop;
    struct kube_client *client;
    struct event_queue *queue;
    const struct kube_source *kube_source; /* knows the objects' uids */
    const struct reconciler *reconciler;   /* knows who leads */
};

struct event_writer *event_writer_start(const struct event_writer_config *config);
void event_writer_free(struct event_writer *writer); /* cancels a request; NULL is fine */

struct event_writer_counts {
    struct event_queue_counts queue;
    uint64_t written; /* created, or their series changed */
    uint64_t failures;
};
struct event_writer_counts event_writer_count(const struct event_writer *writer);

#endif
