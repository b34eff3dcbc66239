#include "common/page/page.h"

#include "common/http/http_server.h"

void page_reply(const struct page *page, const struct http_request *request,
                struct http_reply *reply)
{
    if (http_request_reads(request, reply)) {
        reply->content_type = "text/html; charset=utf-8";
        reply->fields = page->fields;
        buf_append(&reply->body, page->html, page->len);
    }
}
