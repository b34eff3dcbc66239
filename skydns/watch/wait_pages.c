#include "skydns/watch/wait_pages.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/base/xalloc.h"
#include "common/dns/dname.h"
#include "common/http/http_fetch.h"
#include "common/http/http_head.h"
#include "skydns/external/cache.h"
#include "skydns/publish/publisher.h"
#include "skydns/resolver/resolver.h"
#include "skydns/sync/store_sync.h"

/* ---- /wait ---- */

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

/* ---- /flush ---- */

struct flush_page {
    const struct metrics_sources *sources;
    struct http_waiters *waiters;
};

/* Looks whether the flush with the number `item` is over. */
static enum http_wait_state flush_page_look(void *data, void *item, struct buf *text)
{
    const struct flush_page *page = data;
    const uint64_t *number = item;
    uint64_t dropped;
    const bool is_over = resolver_flush_is_over(page->sources->resolver, *number, &dropped);
    if (text && is_over) {
        buf_printf(text, "{\"dropped\":%" PRIu64 "}\n", dropped);
    } else if (text) {
        buf_append_str(text, "the cache is still being flushed\n");
    }
    return is_over ? HTTP_WAIT_DONE : HTTP_WAIT_SOON;
}

/* Returns false, with the reply, if the request is none that flushes. */
static bool flush_page_allows(const struct http_request *request, struct http_reply *reply)
{
    if (strcmp(request->method, "POST") != 0) {
        reply->status = HTTP_WRONG_METHOD;
        reply->fields = "Allow: POST\r\n";
        buf_append_str(&reply->body, "expected: POST\n");
        return false;
    }
    if (!request->has_flush) {
        reply->status = HTTP_FORBIDDEN;
        buf_append_str(&reply->body, "expected the field Skydns-Flush: 1\n");
    }
    return request->has_flush;
}

static void flush_page_handle(void *data, const struct http_request *request,
                              struct http_reply *reply)
{
    struct flush_page *page = data;
    const char *text = http_request_arg(request, "name");
    struct cache_flush flush = {.is_zone = text && *text && text[strlen(text) - 1] == '.'};
    if (!flush_page_allows(request, reply)) {
        return;
    }
    if (!text || !*text || !dname_from_text(slice_str(text), &flush.name)) {
        reply->status = HTTP_BAD_REQUEST;
        buf_printf(&reply->body,
                   "name `%s`: expected a name like www.example.com, or a zone like example.com.\n",
                   text ? text : "");
        return;
    }
    dname_lower(&flush.name);
    const uint64_t number = resolver_flush(page->sources->resolver, &flush);
    if (number == 0) {
        reply->status = HTTP_UNAVAILABLE;
        reply->fields = "Retry-After: 1\r\n";
        buf_append_str(&reply->body, "the cache is being flushed; try again\n");
        return;
    }
    uint64_t *item = xmalloc(sizeof(*item));
    *item = number;
    http_waiters_reply(page->waiters, request, reply, item);
}

struct flush_page *flush_page_new(struct ev_loop *loop, const struct metrics_sources *sources)
{
    struct flush_page *page = xcalloc(1, sizeof(*page));
    page->sources = sources;
    page->waiters = http_waiters_new(
        &(struct http_waiters_config){.loop = loop, .look = flush_page_look, .data = page});
    return page;
}

void flush_page_free(struct flush_page *page)
{
    if (page) {
        http_waiters_free(page->waiters);
        free(page);
    }
}

struct http_route flush_page_route(struct flush_page *page)
{
    return (struct http_route){"/flush", flush_page_handle, page};
}

int flush_page_client(const struct addr *server, const char *name, struct err *err)
{
    enum { TARGET_MAX = 4096 };
    struct buf target;
    struct err why;
    buf_init(&target, TARGET_MAX);
    buf_append_str(&target, "/flush?name=");
    http_fetch_append_value(&target, name);
    int r = http_fetch_print(server, buf_cstr(&target), "Skydns-Flush: 1", &why);
    buf_fini(&target);
    if (r == ERR_REFUSED || r == ERR_NOT_FOUND) {
        return err_set(err, r == ERR_REFUSED ? ERR_USAGE : r, "%s", why.msg);
    }
    return r == 0 ? 0 : err_set(err, r, "%s; -http-addr must be that of a running skydns", why.msg);
}
