#include "tests/bench/answers/bare_h2.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "tests/bench/answers/bare_answer.h"

enum {
    STREAMS = 128,
    QUERY_MAX = 512, /* with one name */
};

struct exchange {
    uint8_t message[QUERY_MAX + BARE_RECORD];
    size_t len, sent;
    struct exchange *next; /* free */
};

struct bare_h2 {
    nghttp2_session *session;
    struct exchange exchanges[STREAMS], *free;
};

static int bare_h2_on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    struct bare_h2 *h2 = data;
    struct exchange *exchange = h2->free;
    if (!exchange) {
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    h2->free = exchange->next;
    exchange->len = exchange->sent = 0;
    return nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, exchange);
}

static int bare_h2_on_data(nghttp2_session *session, uint8_t flags, int32_t stream,
                           const uint8_t *bytes, size_t len, void *data)
{
    (void)flags;
    (void)data;
    struct exchange *exchange = nghttp2_session_get_stream_user_data(session, stream);
    if (!exchange || len > QUERY_MAX - exchange->len) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    memcpy(exchange->message + exchange->len, bytes, len);
    exchange->len += len;
    return 0;
}

static ssize_t bare_h2_read_answer(nghttp2_session *session, int32_t stream, uint8_t *out,
                                   size_t size, uint32_t *flags, nghttp2_data_source *source,
                                   void *data)
{
    (void)session;
    (void)stream;
    (void)data;
    struct exchange *exchange = source->ptr;
    size_t left = exchange->len - exchange->sent, len = left < size ? left : size;
    memcpy(out, exchange->message + exchange->sent, len);
    exchange->sent += len;
    if (len == left) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    return (ssize_t)len;
}

static nghttp2_nv bare_h2_field(char *name, char *value)
{
    return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value),
                        NGHTTP2_NV_FLAG_NONE};
}

static int bare_h2_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    (void)data;
    struct exchange *exchange = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (!exchange || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) ||
        exchange->len < BARE_QUERY_MIN) {
        return 0;
    }
    static char names[4][16] = {":status", "content-type", "content-length", "cache-control"};
    static char status[] = "200", type[] = "application/dns-message", age[] = "max-age=30";
    exchange->len = bare_answer(exchange->message, exchange->len);
    char length[8];
    (void)snprintf(length, sizeof(length), "%u", (unsigned)exchange->len);
    const nghttp2_nv fields[] = {bare_h2_field(names[0], status), bare_h2_field(names[1], type),
                                 bare_h2_field(names[2], length), bare_h2_field(names[3], age)};
    const nghttp2_data_provider body = {.source.ptr = exchange,
                                        .read_callback = bare_h2_read_answer};
    return nghttp2_submit_response(session, frame->hd.stream_id, fields, 4, &body);
}

static int bare_h2_on_closed(nghttp2_session *session, int32_t stream, uint32_t error, void *data)
{
    (void)error;
    struct bare_h2 *h2 = data;
    struct exchange *exchange = nghttp2_session_get_stream_user_data(session, stream);
    if (exchange) {
        exchange->next = h2->free;
        h2->free = exchange;
    }
    return 0;
}

struct bare_h2 *bare_h2_new(void)
{
    struct bare_h2 *h2 = xcalloc(1, sizeof(*h2));
    for (size_t i = 0; i < STREAMS; i++) {
        h2->exchanges[i].next = h2->free;
        h2->free = &h2->exchanges[i];
    }
    nghttp2_session_callbacks *callbacks;
    const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS}};
    if (nghttp2_session_callbacks_new(&callbacks) != 0) {
        abort(); /* no memory, here and below */
    }
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, bare_h2_on_begin);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, bare_h2_on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, bare_h2_on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, bare_h2_on_closed);
    if (nghttp2_session_server_new(&h2->session, callbacks, h2) != 0 ||
        nghttp2_submit_settings(h2->session, NGHTTP2_FLAG_NONE, settings, 1) != 0) {
        abort();
    }
    nghttp2_session_callbacks_del(callbacks);
    return h2;
}

void bare_h2_free(struct bare_h2 *h2)
{
    if (h2) {
        nghttp2_session_del(h2->session);
        free(h2);
    }
}

size_t bare_h2_answer(struct bare_h2 *h2, const uint8_t *in, size_t len, uint8_t *out, size_t size)
{
    if (nghttp2_session_mem_recv(h2->session, in, len) < 0) {
        return size + 1;
    }
    size_t put = 0;
    const uint8_t *bytes;
    for (ssize_t n; (n = nghttp2_session_mem_send(h2->session, &bytes)) > 0; put += (size_t)n) {
        if ((size_t)n > size - put) {
            return size + 1;
        }
        memcpy(out + put, bytes, (size_t)n);
    }
    return put;
}
