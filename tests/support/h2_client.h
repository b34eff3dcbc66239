/* A client of common/http2/http2_server.h for tests: frames of tests/support/h2_bytes.h go in by
 * h2_client_send, what comes out is read frame by frame. Failures fail the running cmocka test. */
#ifndef TESTS_SUPPORT_H2_CLIENT_H
#define TESTS_SUPPORT_H2_CLIENT_H

#include <stdbool.h>

#include "common/http2/http2_server.h"
#include "tests/support/h2_bytes.h"

#define H2_CLIENT_GET \
    ":method: GET\n:scheme: https\n:authority: dns.test\n:path: /dns-query?dns=AAAA\n"
#define H2_CLIENT_POST                                                         \
    ":method: POST\n:scheme: https\n:authority: dns.test\n:path: /dns-query\n" \
    "content-type: application/dns-message\n"

struct h2_client {
    struct http2_server *server;
    struct buf bytes; /* to be sent */
    struct buf got;   /* flushed, from got_at on not read */
    size_t got_at;
    size_t piece;   /* how many bytes h2_client_send hands over at once; 0: all */
    size_t room;    /* of a flush; 0: any */
    bool is_late;   /* requests are not answered by themselves */
    bool must_stop; /* may_go_on says no */
    bool is_over;   /* take has returned -1 */

    size_t request_count, cancel_count;
    struct http2_request last; /* copied into: */
    struct buf texts;
    int32_t last_cancelled;
};

void h2_client_open(struct h2_client *client);
/* And greeted: after the client's preface and SETTINGS. */
void h2_client_start(struct h2_client *client);
void h2_client_end(struct h2_client *client);

/* Sends the content of `bytes`, then flushes. Returns how many bytes were not taken. */
size_t h2_client_send(struct h2_client *client);
void h2_client_get(struct h2_client *client, int32_t stream);
/* "reply <stream>" or the text, with 200. */
void h2_client_answer(struct h2_client *client, int32_t stream, struct slice body);
void h2_client_flush(struct h2_client *client);

/* The next frame of the type, passing over others; false: there is none. */
bool h2_client_next(struct h2_client *client, enum h2_type type, struct h2_frame_view *ret);
void h2_client_expect_reply(struct h2_client *client, int32_t stream, const char *body);
void h2_client_expect_reset(struct h2_client *client, int32_t stream, uint32_t error);
/* GOAWAY with the error, and the end; then that another connection is served. */
void h2_client_expect_goaway(struct h2_client *client, int32_t last_stream, uint32_t error);
void h2_client_expect_text(struct slice got, const char *want);

#endif
