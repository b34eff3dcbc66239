/* An HTTP/1.1 server on the test's own loop that answers from a script: the n-th request, on any
 * connection, must match the n-th step and gets its reply. For tests of HTTP clients that need an
 * exact reply, none, or half of one. */
#ifndef TESTS_SUPPORT_HTTP_SCRIPT_H
#define TESTS_SUPPORT_HTTP_SCRIPT_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

struct http_script;

struct http_step {
    const char *request; /* prefix of the request line: "GET /api?x=1 " */
    const char *header;  /* a line its head must contain, or NULL */
    char *reply;         /* owned by the script, malloc'ed; NULL: sends nothing */
    size_t piece_bytes;  /* sent in pieces of this size, one per loop iteration; 0: at once */
    bool is_closed;      /* closes the connection after the reply */
};

/* Listens on a free port of 127.0.0.1. Copies the steps. */
struct http_script *http_script_new(struct ev_loop *loop, const struct http_step *steps,
                                    size_t count);
void http_script_free(struct http_script *script);

const char *http_script_url(const struct http_script *script);     /* "http://127.0.0.1:PORT" */
size_t http_script_taken(const struct http_script *script);        /* requests answered so far */
size_t http_script_connections(const struct http_script *script);  /* accepted so far */
const char *http_script_problem(const struct http_script *script); /* NULL: all as expected */

/* The last request, verbatim: its line, its headers, its body. Borrowed until the next one. */
const char *http_script_head(const struct http_script *script);

/* Replies, malloc'ed. status is "200 OK". */
char *http_reply_body(const char *status, const char *body);

/* A chunked reply, one chunk per line (NULL ends them), with their newlines. HTTP_STREAM_GOES_ON
 * leaves out the last chunk. */
enum http_script_stream { HTTP_STREAM_ENDS, HTTP_STREAM_GOES_ON };
char *http_reply_stream(enum http_script_stream stream, const char *const *lines);

#endif
