#include "skydns/upstream/reply_portions_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/attributes.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/xalloc.h"
#include "skydns/upstream/external.h"
#include "skydns/upstream/forwarder_counts.h"
#include "skydns/wire/response_parse.h"

/* A question's end, shared by the queries that wait for it. */
struct shared_reply {
    struct reply_portions *owner;
    size_t waiting; /* queries whose turn is to come, and the one whose turn it is */
    size_t bytes;   /* counted in the owner's */
    uint8_t *message;
    struct parsed_response response; /* parsed from the message */
    struct nameserver server;
    struct reply_forms forms;
    struct forwarder_reply reply; /* borrows from the three above */
};

struct reply_portions {
    struct ev_loop *loop;
    struct forwarder_counts *counts;
    struct fair_queue queue; /* of forwarder_wait */
    size_t bytes;            /* of all shared responses */
    ev_async next;           /* active while a query waits */
};

static void stop_if_empty(struct reply_portions *p)
{
    if (TAILQ_EMPTY(&p->queue.turns)) {
        ev_async_stop(p->loop, &p->next);
    }
}

static void count_bytes(struct shared_reply *s)
{
    const size_t bytes = s->response.len + s->response.count * sizeof(s->response.rrs[0]) +
                         reply_forms_bytes(&s->forms);
    s->owner->bytes += bytes - s->bytes;
    s->bytes = bytes;
}

static void free_shared(struct shared_reply *s)
{
    s->owner->bytes -= s->bytes;
    reply_forms_fini(&s->forms);
    response_parse_fini(&s->response);
    free(s->message);
    free(s);
}

static void end_wait(struct shared_reply *s)
{
    assert(s->waiting > 0);
    if (--s->waiting == 0) {
        free_shared(s);
    }
}

/* Takes the next waiting query; NULL: none waits. */
static struct forwarder_wait *next_shared_wait(struct reply_portions *p)
{
    return (struct forwarder_wait *)(void *)fair_queue_pop(&p->queue); /* first member */
}

static void on_portion(struct ev_loop *loop, ev_async *next, int revents UNUSED)
{
    struct reply_portions *p = next->data;
    const int64_t begun_us = clock_monotonic_us();
    struct forwarder_wait *wait;
    while ((wait = next_shared_wait(p))) {
        struct shared_reply *s = STEAL(wait->shared);
        wait->cb(wait->data, &s->reply);
        count_bytes(s);
        end_wait(s);
        if (clock_monotonic_us() - begun_us >= FORWARDER_PORTION_US) {
            break;
        }
    }
    stop_if_empty(p);
    if (ev_is_active(next)) {
        ev_async_send(loop, next);
    }
}

/* Copies the response. Without room for it, the waiting queries get none. */
static void copy_response(struct shared_reply *s, const struct forwarder_reply *reply)
{
    const struct parsed_response *response = reply->response;
    if (reply->outcome != FORWARDER_REPLIED) {
        return;
    }
    if (s->owner->bytes >= REPLY_PORTIONS_BYTES_MAX) {
        s->reply.outcome = FORWARDER_DROPPED;
        counter_add(&s->owner->counts->unshared, s->waiting);
        return;
    }
    s->message = xmalloc(response->len);
    memcpy(s->message, response->bytes, response->len);
    response_copy(response, s->message, &s->response);
    s->server = *reply->server;
    s->forms = *reply->forms; /* moves */
    *reply->forms = (struct reply_forms){0};
    s->reply.response = &s->response;
    s->reply.server = &s->server;
    count_bytes(s);
}

void reply_portions_add(struct reply_portions *portions, struct forwarder_waits *waits,
                        const struct forwarder_reply *reply)
{
    struct reply_portions *p = portions;
    struct forwarder_wait *wait;
    struct shared_reply *s = xcalloc(1, sizeof(*s));
    s->owner = p;
    s->reply = (struct forwarder_reply){.outcome = reply->outcome, .forms = &s->forms};
    while ((wait = TAILQ_FIRST(waits))) {
        TAILQ_REMOVE(waits, wait, entry);
        wait->upstream_query = NULL;
        wait->shared = s;
        s->waiting++;
        fair_queue_push(&p->queue, &wait->turn);
    }
    assert(s->waiting > 0);
    copy_response(s, reply);
    ev_async_start(p->loop, &p->next);
    ev_async_send(p->loop, &p->next);
}

void reply_portions_forget(struct forwarder_wait *wait)
{
    struct shared_reply *s = STEAL(wait->shared);
    struct reply_portions *p = s->owner;
    fair_queue_remove(&p->queue, &wait->turn);
    end_wait(s);
    stop_if_empty(p);
}

void reply_portions_drop_all(struct reply_portions *portions)
{
    struct forwarder_wait *wait;
    while ((wait = next_shared_wait(portions))) {
        end_wait(STEAL(wait->shared));
    }
    stop_if_empty(portions);
}

struct reply_portions *reply_portions_new(struct ev_loop *loop, struct forwarder_counts *counts)
{
    struct reply_portions *p = xcalloc(1, sizeof(*p));
    p->loop = loop;
    p->counts = counts;
    fair_queue_init(&p->queue);
    ev_async_init(&p->next, on_portion);
    ev_set_priority(&p->next, EV_MINPRI); /* messages that have arrived meanwhile come first */
    p->next.data = p;
    return p;
}

void reply_portions_free(struct reply_portions *portions)
{
    reply_portions_drop_all(portions);
    assert(portions->bytes == 0);
    fair_queue_fini(&portions->queue);
    free(portions);
}
