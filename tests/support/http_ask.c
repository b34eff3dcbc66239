#include "tests/support/http_ask.h"

#include <errno.h>
#include <pthread.h>

#include "common/base/threads.h"
#include "tests/support/loopback.h"
#include "tests/support/unit_test.h"

enum { ATTEMPTS = 100, TIMEOUT_MS = 60000, REPLY_MAX = 32 * 1024 * 1024 };

struct asking {
    struct ev_loop *loop;
    ev_async done;
    struct http_fetch fetch;
    struct asked_page *asked;
    int result;
    struct err err;
};

struct http_server *http_ask_serve(struct ev_loop *loop, const struct http_route *routes,
                                   size_t count, struct addr *ret_address)
{
    struct http_server *server = NULL;
    struct err err = {0};
    int r = -EADDRINUSE;
    for (int i = 0; i < ATTEMPTS && r == -EADDRINUSE; i++) {
        *ret_address = loopback_addr(loopback_free_port());
        r = http_server_new(loop, ret_address, routes, count, &server, &err);
    }
    assert_that(r >= 0, "%s", err.msg);
    return server;
}

static void *support_http_ask(void *data)
{
    struct asking *a = data;
    a->result = http_fetch(&a->fetch, &a->asked->response, &a->err);
    ev_async_send(a->loop, &a->done);
    return NULL;
}

static void http_ask_on_done(struct ev_loop *loop, ev_async *done, int events)
{
    ev_break(loop, EVBREAK_ONE);
}

struct asked_page http_ask(struct ev_loop *loop, const struct addr *server, const char *target)
{
    struct asked_page asked = {0};
    struct asking a = {
        .loop = loop,
        .fetch = {.server = *server, .target = target, .timeout_ms = TIMEOUT_MS},
        .asked = &asked,
    };
    pthread_t thread;
    http_response_init(&asked.response, REPLY_MAX);
    ev_async_init(&a.done, http_ask_on_done);
    ev_async_start(loop, &a.done);
    /* Signals stay with the test's thread: they would interrupt this thread's calls. */
    assert_int_equal(thread_start(&thread, NULL, support_http_ask, &a), 0);
    ev_run(loop, 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    ev_async_stop(loop, &a.done);
    assert_that(a.result == 0, "%s: %s", target, a.err.msg);
    asked.page.status = asked.response.status;
    asked.page.body = buf_cstr(&asked.response.body);
    return asked;
}

void asked_page_fini(struct asked_page *asked)
{
    http_response_fini(&asked->response);
}
