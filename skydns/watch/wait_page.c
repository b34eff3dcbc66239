#include "skydns/watch/wait_page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/buf.h"
#include "common/base/xalloc.h"
#include "common/http/http_head.h"
#include "skydns/publish/publisher.h"
#include "skydns/sync/store_sync.h"

struct wait_item {
    int64_t revision;
    uint64_t epoch; /* the publication from which on it is served; 0: not published yet */
};

/* Looks for the first publication that has the revision, then for the moment when no thread reads
 * an older one. */
static enum http_wait_state wait_page_look(void *data, void *item, struct buf *text)
{
    const struct metrics_sources *sources = data;
    struct wait_item *wait = item;
    const struct store_sync_counts now = store_sync_counts(sources->sync);
    const bool is_serving = sources->serving == SERVING_HERE;
    const bool is_followed = is_serving && store_sync_is_caught_up(sources->sync);
    const bool is_here = is_followed && now.revision >= wait->revision;
    wait->epoch = !is_here ? 0 : !wait->epoch ? publisher_epoch(sources->publisher) : wait->epoch;
    const bool is_done = is_here && publisher_seen(sources->publisher) >= wait->epoch;
    if (text && is_done) {
        buf_printf(text, "{\"revision\":%" PRId64 "}\n", now.revision);
    } else if (text && !is_serving) {
        buf_printf(text, "revision %" PRId64 ": another skydns reads the sockets\n",
                   wait->revision);
    } else if (text && !is_followed) {
        buf_printf(text, "revision %" PRId64 ": etcd is not followed, or not caught up with\n",
                   wait->revision);
    } else if (text && is_here) {
        buf_printf(text, "revision %" PRId64 ": not all threads serve it yet\n", wait->revision);
    } else if (text) {
        buf_printf(text, "revision %" PRId64 ": etcd's latest change of our keys is %" PRId64 "\n",
                   wait->revision, now.revision);
    }
    return is_done ? HTTP_WAIT_DONE : is_here ? HTTP_WAIT_SOON : HTTP_WAIT_MORE;
}

static void wait_page_handle(void *data, const struct http_request *request,
                             struct http_reply *reply)
{
    const char *text = http_request_arg(request, "revision");
    char *end = NULL;
    if (!http_request_reads(request, reply)) {
        return;
    }
    errno = 0;
    const int64_t revision = text && *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : 0;
    if (revision <= 0 || *end || errno) {
        reply->status = HTTP_BAD_REQUEST;
        buf_printf(&reply->body, "revision `%s`: expected a revision of etcd, such as 1234\n",
                   text ? text : "");
        return;
    }
    struct wait_item *item = xcalloc(1, sizeof(*item));
    item->revision = revision;
    http_waiters_reply(data, request, reply, item);
}

struct http_waiters *wait_page_new(struct ev_loop *loop, const struct metrics_sources *sources)
{
    return http_waiters_new(&(struct http_waiters_config){
        .loop = loop, .look = wait_page_look, .data = (void *)(uintptr_t)sources});
}

struct http_route wait_page_route(struct http_waiters *waiters)
{
    return (struct http_route){"/wait", wait_page_handle, waiters};
}
