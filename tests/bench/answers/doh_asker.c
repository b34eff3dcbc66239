#include "tests/bench/answers/doh_asker.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/dns/dns.h"

struct request {
    const struct query *query;
    size_t sent;
    bool is_ok;                      /* status 200 */
    uint8_t header[DNS_HEADER_SIZE]; /* of the answer */
    size_t have;
    struct request *next; /* free */
};

struct doh_asker {
    nghttp2_session *session;
    struct meter *meter;
    struct request requests[DOH_ASKED_MAX], *free;
    int64_t answers; /* in this call */
    bool is_ended;   /* GOAWAY */
    /* The unsent rest of nghttp2_session_mem_send's output. */
    const uint8_t *rest;
    size_t rest_len;
};

/* ---- nghttp2's callbacks ---- */

static int doh_asker_on_header(nghttp2_session *session, const nghttp2_frame *frame,
                               const uint8_t *name, size_t name_len, const uint8_t *value,
                               size_t value_len, uint8_t flags, void *data)
{
    (void)flags;
    (void)data;
    struct request *request = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (request && name_len == 7 && memcmp(name, ":status", 7) == 0) {
        request->is_ok = value_len == 3 && memcmp(value, "200", 3) == 0;
    }
    return 0;
}

static int doh_asker_on_data(nghttp2_session *session, uint8_t flags, int32_t stream,
                             const uint8_t *bytes, size_t len, void *data)
{
    (void)flags;
    (void)data;
    struct request *request = nghttp2_session_get_stream_user_data(session, stream);
    if (request) {
        size_t room = sizeof(request->header) - request->have;
        memcpy(request->header + request->have, bytes, len < room ? len : room);
        request->have += len < room ? len : room;
    }
    return 0;
}

static int doh_asker_on_closed(nghttp2_session *session, int32_t stream, uint32_t error, void *data)
{
    struct doh_asker *asker = data;
    struct request *request = nghttp2_session_get_stream_user_data(session, stream);
    if (!request) {
        return 0;
    }
    if (error == NGHTTP2_NO_ERROR && request->is_ok && request->have == sizeof(request->header)) {
        meter_answer(asker->meter, request->header);
    } else {
        asker->meter->errors++;
    }
    asker->answers++;
    request->next = asker->free;
    asker->free = request;
    return 0;
}

static int doh_asker_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    (void)session;
    struct doh_asker *asker = data;
    asker->is_ended = asker->is_ended || frame->hd.type == NGHTTP2_GOAWAY;
    return 0;
}

static ssize_t read_body(nghttp2_session *session, int32_t stream, uint8_t *out, size_t size,
                         uint32_t *flags, nghttp2_data_source *source, void *data)
{
    (void)session;
    (void)stream;
    (void)data;
    struct request *request = source->ptr;
    size_t left = request->query->len - request->sent;
    size_t len = left < size ? left : size;
    memcpy(out, request->query->frame + QUERY_FRAME + request->sent, len);
    request->sent += len;
    if (len == left) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    return (ssize_t)len;
}

/* ---- The connection ---- */

struct doh_asker *doh_asker_new(struct meter *meter)
{
    struct doh_asker *asker = xcalloc(1, sizeof(*asker));
    asker->meter = meter;
    for (size_t i = 0; i < DOH_ASKED_MAX; i++) {
        asker->requests[i].next = asker->free;
        asker->free = &asker->requests[i];
    }
    nghttp2_session_callbacks *callbacks;
    const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};
    if (nghttp2_session_callbacks_new(&callbacks) != 0) {
        abort(); /* no memory, here and below */
    }
    nghttp2_session_callbacks_set_on_header_callback(callbacks, doh_asker_on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, doh_asker_on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, doh_asker_on_closed);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, doh_asker_on_frame);
    if (nghttp2_session_client_new(&asker->session, callbacks, asker) != 0 ||
        nghttp2_submit_settings(asker->session, NGHTTP2_FLAG_NONE, settings, 1) != 0) {
        abort();
    }
    nghttp2_session_callbacks_del(callbacks);
    return asker;
}

void doh_asker_free(struct doh_asker *asker)
{
    if (asker) {
        nghttp2_session_del(asker->session);
        free(asker);
    }
}

static nghttp2_nv doh_asker_field(const char *name, const char *value)
{
    /* nghttp2 copies both, its type alone has no const. */
    union {
        const char *text;
        uint8_t *bytes;
    } n = {.text = name}, v = {.text = value};
    return (nghttp2_nv){n.bytes, v.bytes, strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE};
}

void doh_asker_ask(struct doh_asker *asker, const struct query *query)
{
    struct request *request = asker->free;
    if (!request) {
        asker->meter->errors++;
        return;
    }
    asker->free = request->next;
    *request = (struct request){.query = query};
    char length[8];
    (void)snprintf(length, sizeof(length), "%u", (unsigned)query->len);
    const nghttp2_nv fields[] = {
        doh_asker_field(":method", "POST"),
        doh_asker_field(":scheme", "https"),
        doh_asker_field(":authority", "127.0.0.1"),
        doh_asker_field(":path", "/dns-query"),
        doh_asker_field("accept", "application/dns-message"),
        doh_asker_field("content-type", "application/dns-message"),
        doh_asker_field("content-length", length),
    };
    const nghttp2_data_provider body = {.source.ptr = request, .read_callback = read_body};
    if (nghttp2_submit_request(asker->session, NULL, fields, sizeof(fields) / sizeof(fields[0]),
                               &body, request) < 0) {
        asker->meter->errors++;
        request->next = asker->free;
        asker->free = request;
    }
}

size_t doh_asker_put(struct doh_asker *asker, uint8_t *out, size_t size)
{
    size_t put = 0;
    while (put < size) {
        if (asker->rest_len == 0) {
            ssize_t len = nghttp2_session_mem_send(asker->session, &asker->rest);
            if (len <= 0) {
                break;
            }
            asker->rest_len = (size_t)len;
        }
        size_t len = asker->rest_len < size - put ? asker->rest_len : size - put;
        memcpy(out + put, asker->rest, len);
        asker->rest += len;
        asker->rest_len -= len;
        put += len;
    }
    return put;
}

int64_t doh_asker_take(struct doh_asker *asker, const uint8_t *bytes, size_t len)
{
    asker->answers = 0;
    ssize_t taken = nghttp2_session_mem_recv(asker->session, bytes, len);
    return taken < 0 || asker->is_ended ? -1 : asker->answers;
}
