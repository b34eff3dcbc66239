#include "common/page/live_page.h"

#include <stdlib.h>

#include "common/base/xalloc.h"
#include "common/http/http_server.h"

struct live_page {
    const struct page *page;
    struct http_events *events;
};

static void live_page_on_page(void *data, const struct http_request *request,
                              struct http_reply *reply)
{
    const struct live_page *live = data;
    page_reply(live->page, request, reply);
}

static void on_live(void *data, const struct http_request *request, struct http_reply *reply)
{
    const struct live_page *live = data;
    http_events_reply(live->events, request, reply);
}

struct live_page *live_page_new(const struct page *page, const struct http_events_config *events)
{
    struct live_page *live = xcalloc(1, sizeof(*live));
    live->page = page;
    live->events = http_events_new(events);
    return live;
}

void live_page_free(struct live_page *live)
{
    if (live) {
        http_events_free(live->events);
        free(live);
    }
}

void live_page_routes(struct live_page *live, struct http_route routes[LIVE_PAGE_ROUTES])
{
    routes[0] = (struct http_route){"/", live_page_on_page, live};
    routes[1] = (struct http_route){"/live", on_live, live};
}

void page_reply(const struct page *page, const struct http_request *request,
                struct http_reply *reply)
{
    if (http_request_reads(request, reply)) {
        reply->content_type = "text/html; charset=utf-8";
        reply->fields = page->fields;
        buf_append(&reply->body, page->html, page->len);
    }
}
