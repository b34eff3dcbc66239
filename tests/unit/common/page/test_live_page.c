/* A page and its events, asked for over HTTP. */
#include "common/page/live_page.h"

#include <unistd.h>

#include "tests/support/http_ask.h"
#include "tests/support/unit_test.h"

static const struct page page = {
    .html = (const unsigned char *)"<p>figures",
    .len = 10,
    .fields = "Content-Security-Policy: default-src 'none'\r\n" PAGE_FIELDS,
};

static void live_page_build(void *data, struct buf *line)
{
    buf_append_str(line, data);
}

/* Sends the request and reads until the reply has the last of these parts; it has the others, too.
 */
static void expect_reply(struct ev_loop *loop, const struct addr *address, const char *request,
                         const char *const *parts, size_t count)
{
    char bytes[4096];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CLEANUP_BUF struct buf reply = buf_of(16 * 1024);
    assert_int_equal(connect(fd, &address->sa, address->len), 0);
    assert_int_equal(write(fd, request, strlen(request)), strlen(request));
    while (!strstr(buf_cstr(&reply), parts[count - 1])) {
        ev_run(loop, EVRUN_ONCE);
        ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        assert_int_not_equal(n, 0);
        buf_append(&reply, bytes, n > 0 ? (size_t)n : 0);
    }
    for (size_t i = 0; i < count; i++) {
        assert_non_null(strstr(buf_cstr(&reply), parts[i]));
    }
    close(fd);
}

UNIT_TEST(test_page_and_events)
{
    struct ev_loop *loop = ev_loop_new(EVFLAG_AUTO);
    struct http_route routes[LIVE_PAGE_ROUTES];
    struct addr address;
    static char figures[] = "{\"figures\":1}";
    const struct http_events_config events = {
        .loop = loop, .build = live_page_build, .data = figures};
    struct http_events *live = http_events_new(&events);
    live_page_routes(&page, live, routes);
    struct http_server *server = http_ask_serve(loop, routes, ARRAY_LEN(routes), &address);

    static const char *const of_page[] = {
        "HTTP/1.1 200 OK\r\n",
        "\r\nContent-Type: text/html; charset=utf-8\r\n",
        "\r\nContent-Security-Policy: default-src",
        "\r\nX-Content-Type-Options: nosniff\r\n",
        "\r\n\r\n<p>figures",
    };
    static const char *const of_events[] = {"\r\nContent-Type: text/event-stream\r\n",
                                            "data: {\"figures\":1}\n\n"};
    expect_reply(loop, &address, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", of_page,
                 ARRAY_LEN(of_page));
    expect_reply(loop, &address, "GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n", of_events,
                 ARRAY_LEN(of_events));

    http_server_free(server);
    http_events_free(live);
    ev_loop_destroy(loop);
}
