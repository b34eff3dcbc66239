#include "skydns/doh/doh_http2_internal.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"
#include "common/http2/http2_server.h"
#include "skydns/doh/doh_reply_internal.h"
#include "skydns/doh/doh_request_internal.h"
#include "skydns/wire/response.h"

_Static_assert((int)HTTP2_BODY_MAX >= (int)DOH_QUERY_MAX, "the longest query is not cut off");
_Static_assert((int)HTTP2_HEADERS_MAX <= (int)HTTP_HEAD_MAX, "a query in a target fits");

/* Bit of a tag, beside the stream's number of 31 bits. */
#define TAG_IS_HEAD (UINT64_C(1) << 32)

struct doh_http2 {
    struct stream_host *host;
    struct http2_server *server;
    struct doh_date date;
    uint8_t refused;
    bool is_over; /* GOAWAY is said */
};

/* ---- Replies ---- */

static void doh_http2_put_reply(struct doh_http2 *s, uint64_t tag, enum http_status status,
                                struct slice body, uint32_t max_age_s)
{
    char length[DOH_NUMBER_MAX], max_age[sizeof("max-age=") + DOH_NUMBER_MAX] = "max-age=";
    (void)doh_reply_number((uint32_t)body.len, length);                  /* NUL-terminated */
    (void)doh_reply_number(max_age_s, max_age + sizeof("max-age=") - 1); /* likewise */
    const struct http2_field fields[] = {
        {"content-type", status == HTTP_OK ? DOH_TYPE : DOH_ERROR_TYPE},
        {"content-length", length},
        {"cache-control", max_age},
        {"date", doh_date_now(&s->date)},
        {"allow", DOH_ALLOWED},
    };
    const struct http2_reply reply = {.status = status,
                                      .fields = fields,
                                      .field_count =
                                          ARRAY_LEN(fields) - (status != HTTP_WRONG_METHOD),
                                      .body = tag & TAG_IS_HEAD ? slice_of(NULL, 0) : body};
    http2_server_reply(s->server, (int32_t)(tag & INT32_MAX), &reply);
}

void doh_http2_reply(struct doh_http2 *stream, uint64_t tag, const struct response *response)
{
    if (response->len > 0) {
        doh_http2_put_reply(stream, tag, HTTP_OK, slice_of(response->bytes, response->len),
                            response_max_age_s(response));
    } else {
        doh_http2_put_reply(stream, tag, HTTP_INTERNAL_ERROR, doh_reply_error(HTTP_INTERNAL_ERROR),
                            0);
    }
}

/* ---- Requests ---- */

static void doh_http2_refuse(struct doh_http2 *s, uint64_t tag, unsigned status)
{
    doh_http2_put_reply(s, tag, status, doh_reply_error(status), 0);
    if (++s->refused > DOH_REFUSED_MAX && !s->is_over) {
        s->is_over = true;
        http2_server_drain(s->server);
    }
}

static void doh_http2_take_query(struct doh_http2 *s, uint64_t tag, struct slice query)
{
    unsigned status = doh_request_check(query);
    if (status == 0) {
        s->refused -= s->refused > 0;
        stream_host_query(s->host, tag, (const uint8_t *)query.ptr, query.len);
    } else {
        doh_http2_refuse(s, tag, status);
    }
}

static void take_query_in_path(struct doh_http2 *s, uint64_t tag, struct slice text)
{
    uint8_t query[DOH_TARGET_QUERY_MAX];
    size_t len;
    unsigned status = doh_request_decode(text, query, &len);
    if (status == 0) {
        doh_http2_take_query(s, tag, slice_of(query, len));
    } else {
        doh_http2_refuse(s, tag, status);
    }
}

static void doh_http2_requested(void *data, const struct http2_request *request)
{
    struct doh_http2 *s = data;
    const struct doh_request what = {
        .method = request->method, .target = request->path, .content_type = request->content_type};
    struct doh_route route;
    unsigned status = doh_request_route(&what, &route);
    uint64_t tag = (uint64_t)request->stream | (route.is_head ? TAG_IS_HEAD : 0);
    if (request->is_head_too_long) {
        status = HTTP_HEAD_TOO_LONG; /* what was judged may be missing */
    } else if (status == 0 && route.is_in_body && request->is_too_long) {
        status = HTTP_TOO_LONG;
    }
    if (status != 0) {
        doh_http2_refuse(s, tag, status);
    } else if (route.is_in_body) {
        doh_http2_take_query(s, tag, request->body);
    } else {
        take_query_in_path(s, tag, route.text);
    }
}

static bool doh_http2_may_go_on(void *data)
{
    const struct doh_http2 *s = data;
    return stream_host_may_go_on(s->host);
}

static void doh_http2_put(void *data, const void *bytes, size_t len)
{
    const struct doh_http2 *s = data;
    stream_host_put(s->host, bytes, len);
}

/* ---- As a protocol ---- */

struct doh_http2 *doh_http2_new(struct stream_host *host)
{
    struct doh_http2 *s = xcalloc(1, sizeof(*s));
    const struct http2_server_callbacks callbacks = {.requested = doh_http2_requested,
                                                     .may_go_on = doh_http2_may_go_on,
                                                     .put = doh_http2_put,
                                                     .data = s};
    s->host = host;
    s->server = http2_server_new(&callbacks);
    return s;
}

void doh_http2_free(struct doh_http2 *stream)
{
    http2_server_free(stream->server);
    free(stream);
}

enum stream_take doh_http2_take(struct doh_http2 *stream, const uint8_t *bytes, size_t len,
                                size_t *ret_taken)
{
    struct doh_http2 *s = stream;
    ssize_t taken = http2_server_take(s->server, bytes, len);
    *ret_taken = taken < 0 ? len : (size_t)taken;
    if (taken < 0) {
        return STREAM_BROKEN; /* of HTTP/2: what is asked already gets no reply, either */
    }
    if (s->is_over && http2_server_streams(s->server) == 0) {
        return STREAM_ENDS;
    }
    return (size_t)taken < len ? STREAM_PAUSED : STREAM_WAITS;
}

bool doh_http2_flush(struct doh_http2 *stream)
{
    return http2_server_flush(stream->server, stream_host_room(stream->host));
}

void doh_http2_drain(struct doh_http2 *stream)
{
    stream->is_over = true;
    http2_server_drain(stream->server);
}

size_t doh_http2_memory(const struct doh_http2 *stream)
{
    return http2_server_memory(stream->server);
}
