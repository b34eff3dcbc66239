/* Fetches pages from an HTTP server on the test's own loop: a thread asks while the loop runs.
 * Failures fail the running cmocka test. */
#ifndef TESTS_SUPPORT_HTTP_ASK_H
#define TESTS_SUPPORT_HTTP_ASK_H

#include <ev.h>

#include "common/base/buf.h"
#include "common/http/http_fetch.h"
#include "common/http/http_server.h"

struct asked_page {
    struct http_page {
        unsigned status;
        const char *body; /* in the response */
    } page;
    struct http_response response;
};

/* A server on a free port of 127.0.0.1, its address in *ret_address. */
struct http_server *http_ask_serve(struct ev_loop *loop, const struct http_route *routes,
                                   size_t count, struct addr *ret_address);

/* GET target, once. The caller frees with asked_page_fini. */
struct asked_page http_ask(struct ev_loop *loop, const struct addr *server, const char *target);
void asked_page_fini(struct asked_page *asked);

#endif
