#include "skydns/doh/doh_held_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "skydns/streams/stream_protocol.h"

void doh_held_init(struct doh_held *held)
{
    *held = (struct doh_held){0};
    STAILQ_INIT(&held->queue);
}

static void drop_first(struct doh_held *held)
{
    struct doh_held_reply *first = STAILQ_FIRST(&held->queue);
    STAILQ_REMOVE_HEAD(&held->queue, next);
    held->count--;
    held->bytes -= first->len;
    free(first->bytes);
    free(first);
}

void doh_held_fini(struct doh_held *held)
{
    while (!STAILQ_EMPTY(&held->queue)) {
        drop_first(held);
    }
}

struct doh_held_reply *doh_held_add(struct doh_held *held, uint64_t tag)
{
    struct doh_held_reply *reply = xcalloc(1, sizeof(*reply));
    reply->tag = tag;
    STAILQ_INSERT_TAIL(&held->queue, reply, next);
    held->count++;
    return reply;
}

struct doh_held_reply *doh_held_find(const struct doh_held *held, uint64_t tag)
{
    struct doh_held_reply *reply;
    STAILQ_FOREACH(reply, &held->queue, next)
    {
        if (reply->tag == tag && !reply->is_ready) {
            return reply;
        }
    }
    return NULL;
}

void doh_held_ready(struct doh_held *held, struct doh_held_reply *reply, struct slice head,
                    struct slice body)
{
    reply->is_ready = true;
    reply->len = head.len + body.len;
    reply->bytes = xmalloc(reply->len);
    memcpy(reply->bytes, head.ptr, head.len);
    if (body.len > 0) {
        memcpy(reply->bytes + head.len, body.ptr, body.len);
    }
    held->bytes += reply->len;
}

bool doh_held_flush(struct doh_held *held, struct stream_host *host)
{
    struct doh_held_reply *first;
    while ((first = STAILQ_FIRST(&held->queue)) && first->is_ready) {
        size_t room = stream_host_room(host), left = first->len - first->sent;
        size_t part = left < room ? left : room;
        if (part > 0) {
            stream_host_put(host, first->bytes + first->sent, part);
            first->sent += part;
        }
        if (part < left) {
            return true;
        }
        drop_first(held);
    }
    return false;
}

size_t doh_held_memory(const struct doh_held *held)
{
    return held->bytes + held->count * sizeof(struct doh_held_reply);
}
