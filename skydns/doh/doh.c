#include "skydns/doh/doh.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "skydns/doh/doh_http1_internal.h"
#include "skydns/doh/doh_http2_internal.h"

/* First bytes of HTTP/2 (RFC 9113 3.4). No request of HTTP/1.1 begins so. */
static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/* Holds one of the two, once the client has shown which. */
struct doh_stream {
    struct stream_host *host;
    struct doh_http1 *http1;
    struct doh_http2 *http2;
    bool is_draining;
};

static void *doh_open(struct stream_host *host)
{
    struct doh_stream *s = xcalloc(1, sizeof(*s));
    s->host = host;
    return s;
}

static void doh_close(void *stream)
{
    struct doh_stream *s = stream;
    if (s->http1) {
        doh_http1_free(s->http1);
    }
    if (s->http2) {
        doh_http2_free(s->http2);
    }
    free(s);
}

static void doh_drain(void *stream)
{
    struct doh_stream *s = stream;
    s->is_draining = true;
    if (s->http1) {
        doh_http1_drain(s->http1);
    }
    if (s->http2) {
        doh_http2_drain(s->http2);
    }
}

/* Chooses by the first bytes. Returns false if more are needed. */
static bool doh_choose(struct doh_stream *s, const uint8_t *bytes, size_t len)
{
    size_t preface_len = sizeof(preface) - 1;
    if (memcmp(bytes, preface, len < preface_len ? len : preface_len) != 0) {
        s->http1 = doh_http1_new(s->host);
    } else if (len >= preface_len) {
        s->http2 = doh_http2_new(s->host);
    } else {
        return false;
    }
    if (s->is_draining) {
        doh_drain(s);
    }
    return true;
}

static enum stream_take doh_take(void *stream, const uint8_t *bytes, size_t len, size_t *ret_taken)
{
    struct doh_stream *s = stream;
    *ret_taken = 0;
    if (len == 0 || (!s->http1 && !s->http2 && !doh_choose(s, bytes, len))) {
        return STREAM_WAITS;
    }
    return s->http1 ? doh_http1_take(s->http1, bytes, len, ret_taken)
                    : doh_http2_take(s->http2, bytes, len, ret_taken);
}

static void doh_reply(void *stream, uint64_t tag, const struct response *response)
{
    struct doh_stream *s = stream;
    if (s->http1) {
        doh_http1_reply(s->http1, tag, response);
    } else {
        doh_http2_reply(s->http2, tag, response);
    }
}

static bool doh_flush(void *stream)
{
    struct doh_stream *s = stream;
    if (s->http1) {
        return doh_http1_flush(s->http1);
    }
    return s->http2 && doh_http2_flush(s->http2);
}

static size_t doh_memory(const void *stream)
{
    const struct doh_stream *s = stream;
    return (s->http1 ? doh_http1_memory(s->http1) : 0) +
           (s->http2 ? doh_http2_memory(s->http2) : 0);
}

const struct stream_protocol doh_protocol = {
    .open = doh_open,
    .close = doh_close,
    .take = doh_take,
    .reply = doh_reply,
    .flush = doh_flush,
    .drain = doh_drain,
    .memory = doh_memory,
};
