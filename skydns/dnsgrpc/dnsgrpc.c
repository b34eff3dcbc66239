#include "skydns/dnsgrpc/dnsgrpc.h"

#include <stdlib.h>

#include "common/base/attributes.h"
#include "common/base/xalloc.h"
#include "common/http2/http2_server.h"
#include "skydns/dnsgrpc/dnsgrpc_call_internal.h"

enum { HTTP_OK = 200, HTTP_WRONG_METHOD = 405, HTTP_WRONG_TYPE = 415 };

struct dnsgrpc_stream {
    struct stream_host *host;
    struct http2_server *server;
    uint8_t refused;
    bool is_over; /* GOAWAY is said */
};

/* ---- Replies ---- */

static void dnsgrpc_send_reply(struct dnsgrpc_stream *s, int32_t stream, struct slice body)
{
    static const struct http2_field fields[] = {{"content-type", "application/grpc"}};
    static const struct http2_field trailers[] = {{"grpc-status", "0"}};
    const struct http2_reply reply = {.status = HTTP_OK,
                                      .fields = fields,
                                      .field_count = ARRAY_LEN(fields),
                                      .body = body,
                                      .trailers = trailers,
                                      .trailer_count = ARRAY_LEN(trailers)};
    http2_server_reply(s->server, stream, &reply);
}

/* Sends the status without a message, in the only header block: "Trailers-Only". */
static void send_status(struct dnsgrpc_stream *s, int32_t stream, struct dnsgrpc_result result)
{
    char digits[] = {(char)('0' + result.status / 10), (char)('0' + result.status % 10), '\0'};
    const struct http2_field fields[] = {
        {"content-type", "application/grpc"},
        {"grpc-status", result.status < 10 ? digits + 1 : digits},
        {"grpc-message", result.message},
        {"grpc-accept-encoding", "identity"}, /* says why compression is refused */
    };
    const struct http2_reply reply = {
        .status = HTTP_OK, .fields = fields, .field_count = ARRAY_LEN(fields)};
    http2_server_reply(s->server, stream, &reply);
}

static void dnsgrpc_reply(void *stream, uint64_t tag, const struct response *response)
{
    uint8_t body[DNSGRPC_PREFIX_MAX + ENGINE_REPLY_MAX];
    if (response->len > 0) {
        dnsgrpc_send_reply(
            stream, (int32_t)tag,
            slice_of(body, dnsgrpc_call_reply(response->bytes, response->len, body)));
    } else {
        const struct dnsgrpc_result none = {DNSGRPC_UNAVAILABLE, "this query gets no response"};
        send_status(stream, (int32_t)tag, none);
    }
}

/* ---- Calls ---- */

static void count_refused(struct dnsgrpc_stream *s)
{
    if (++s->refused > DNSGRPC_REFUSED_MAX && !s->is_over) {
        s->is_over = true;
        http2_server_drain(s->server);
    }
}

/* Refuses something else than gRPC. */
static void dnsgrpc_refuse(struct dnsgrpc_stream *s, int32_t stream, unsigned status)
{
    static const struct http2_field fields[] = {{"content-length", "0"}, {"allow", "POST"}};
    const struct http2_reply reply = {.status = status,
                                      .fields = fields,
                                      .field_count =
                                          ARRAY_LEN(fields) - (status != HTTP_WRONG_METHOD)};
    http2_server_reply(s->server, stream, &reply);
    count_refused(s);
}

static void take_call(struct dnsgrpc_stream *s, const struct http2_request *request)
{
    const struct dnsgrpc_request call = {.path = request->path,
                                         .body = request->body,
                                         .is_cut_off =
                                             request->is_too_long || request->is_head_too_long};
    struct slice query;
    struct dnsgrpc_result result = dnsgrpc_call_query(&call, &query);
    if (result.status == DNSGRPC_OK) {
        s->refused -= s->refused > 0;
        stream_host_query(s->host, (uint64_t)request->stream, (const uint8_t *)query.ptr,
                          query.len);
    } else {
        send_status(s, request->stream, result);
        count_refused(s);
    }
}

static void dnsgrpc_requested(void *data, const struct http2_request *request)
{
    struct dnsgrpc_stream *s = data;
    if (!request->is_head_too_long && !dnsgrpc_is_content_type(request->content_type)) {
        dnsgrpc_refuse(s, request->stream, HTTP_WRONG_TYPE);
    } else if (!request->is_head_too_long && !slice_equal(request->method, slice_str("POST"))) {
        dnsgrpc_refuse(s, request->stream, HTTP_WRONG_METHOD);
    } else {
        take_call(s, request);
    }
}

static bool dnsgrpc_may_go_on(void *data)
{
    const struct dnsgrpc_stream *s = data;
    return stream_host_may_go_on(s->host);
}

static void dnsgrpc_put(void *data, const void *bytes, size_t len)
{
    const struct dnsgrpc_stream *s = data;
    stream_host_put(s->host, bytes, len);
}

/* ---- The protocol ---- */

/* Opens the stream; the server is made with the first bytes: a connection that says nothing costs
 * nothing. */
static void *dnsgrpc_open(struct stream_host *host)
{
    struct dnsgrpc_stream *s = xcalloc(1, sizeof(*s));
    s->host = host;
    return s;
}

static void dnsgrpc_close(void *stream)
{
    struct dnsgrpc_stream *s = stream;
    http2_server_free(s->server);
    free(s);
}

static void dnsgrpc_begin(struct dnsgrpc_stream *s)
{
    const struct http2_server_callbacks callbacks = {.requested = dnsgrpc_requested,
                                                     .may_go_on = dnsgrpc_may_go_on,
                                                     .put = dnsgrpc_put,
                                                     .data = s};
    s->server = http2_server_new(&callbacks);
    if (s->is_over) {
        http2_server_drain(s->server);
    }
}

static enum stream_take dnsgrpc_take(void *stream, const uint8_t *bytes, size_t len,
                                     size_t *ret_taken)
{
    struct dnsgrpc_stream *s = stream;
    if (!s->server) {
        dnsgrpc_begin(s);
    }
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

static bool dnsgrpc_flush(void *stream)
{
    struct dnsgrpc_stream *s = stream;
    return s->server && http2_server_flush(s->server, stream_host_room(s->host));
}

static void dnsgrpc_drain(void *stream)
{
    struct dnsgrpc_stream *s = stream;
    s->is_over = true;
    if (s->server) {
        http2_server_drain(s->server);
    }
}

static size_t dnsgrpc_memory(const void *stream)
{
    const struct dnsgrpc_stream *s = stream;
    return s->server ? http2_server_memory(s->server) : 0;
}

const struct stream_protocol dnsgrpc_protocol = {
    .open = dnsgrpc_open,
    .close = dnsgrpc_close,
    .take = dnsgrpc_take,
    .reply = dnsgrpc_reply,
    .flush = dnsgrpc_flush,
    .drain = dnsgrpc_drain,
    .memory = dnsgrpc_memory,
};
