/* A program's page: one HTML document with its style and script inside, built into the program
 * (common/page/build) from its own folder `page` and what all pages share here. Loads nothing else;
 * the browser talks to this server alone. */
#ifndef COMMON_PAGE_PAGE_H
#define COMMON_PAGE_PAGE_H

#include <stddef.h>

struct http_reply;
struct http_request;

struct page {
    const unsigned char *html;
    size_t len;
    const char *fields; /* of the reply: its policy, and PAGE_FIELDS */
};

/* Asked for again each time, since another version may have come; never in a frame, never as
 * another type; and no other site learns its address, which may have a name asked for. */
#define PAGE_FIELDS                       \
    "Cache-Control: no-cache\r\n"         \
    "X-Content-Type-Options: nosniff\r\n" \
    "Referrer-Policy: no-referrer\r\n"    \
    "Cross-Origin-Resource-Policy: same-origin\r\n"

/* For a handler: 200 with the page; 405 for other methods than GET and HEAD. */
void page_reply(const struct page *page, const struct http_request *request,
                struct http_reply *reply);

#endif
