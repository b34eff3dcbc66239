#include "common/page/live_page.h"

static void live_page_on_page(void *data, const struct http_request *request,
                              struct http_reply *reply)
{
    const struct page *page = data;
    if (http_request_reads(request, reply)) {
        reply->content_type = "text/html; charset=utf-8";
        reply->fields = page->fields;
        buf_append(&reply->body, page->html, page->len);
    }
}

void live_page_routes(const struct page *page, struct http_events *events,
                      struct http_route routes[LIVE_PAGE_ROUTES])
{
    routes[0] = (struct http_route){"/", live_page_on_page, (void *)(uintptr_t)page};
    routes[1] = (struct http_route){"/live", http_events_handle, events};
}
