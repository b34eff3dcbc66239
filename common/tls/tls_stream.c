#include "common/tls/tls_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "common/tls/tls_session.h"
#include "common/tls/tls_session_internal.h"

struct tls_stream {
    struct tls_session *session;
    struct err end; /* the stream is dead; code 0 = not yet */
};

struct tls_stream *tls_stream_new(const struct tls_client *client, int fd, const char *server_name)
{
    struct tls_stream *stream = xcalloc(1, sizeof(*stream));
    stream->session = tls_session_connect(client, fd, server_name, "h2", NULL);
    return stream;
}

void tls_stream_free(struct tls_stream *stream)
{
    if (stream) {
        tls_session_free(stream->session);
        free(stream);
    }
}

static int tls_stream_ended(const struct tls_stream *stream, struct err *err)
{
    return err_set(err, stream->end.code, "%s", stream->end.msg);
}

static enum tls_wait wait_of(enum tls_want want)
{
    return want == TLS_WANT_READ    ? TLS_READABLE
           : want == TLS_WANT_WRITE ? TLS_WRITABLE
                                    : TLS_NOTHING;
}

int tls_stream_handshake(struct tls_stream *stream, enum tls_wait *ret_wait, struct err *err)
{
    enum tls_want want = TLS_WANT_NOTHING;
    if (!stream->end.code && tls_session_handshake(stream->session, &want, &stream->end) == 0 &&
        want == TLS_WANT_NOTHING && strcmp(tls_session_protocol(stream->session), "h2") != 0) {
        err_set(&stream->end, ERR_REFUSED, "TLS: the server does not speak HTTP/2 (ALPN h2)");
    }
    *ret_wait = wait_of(want);
    return stream->end.code ? tls_stream_ended(stream, err) : 0;
}

ssize_t tls_stream_read(struct tls_stream *stream, void *out, size_t size, struct err *err)
{
    ssize_t n = -1;
    if (!stream->end.code) {
        n = tls_session_recv_with_room(stream->session, out, size, TLS_RECORD_MAX);
    }
    if (n > 0) {
        return n;
    }
    if (n == 0) {
        err_set(&stream->end, ERR_UNAVAILABLE, "connection closed by the peer");
    } else if (!stream->end.code && errno == EAGAIN) {
        return 0;
    } else if (!stream->end.code) {
        stream->end = *tls_session_failure(stream->session);
    }
    return tls_stream_ended(stream, err);
}

ssize_t tls_stream_write(struct tls_stream *stream, struct slice bytes, struct err *err)
{
    if (stream->end.code) {
        return tls_stream_ended(stream, err);
    }
    ssize_t n = tls_session_send(stream->session, bytes.ptr, bytes.len);
    if (n >= 0) {
        return n;
    }
    if (errno == EAGAIN) {
        return 0;
    }
    int error = errno;
    const struct err *why = tls_session_failure(stream->session);
    return why ? err_set(err, why->code, "%s", why->msg)
               : err_set(err, ERR_UNAVAILABLE, "connection lost: %s", strerror(error));
}

bool tls_stream_is_at_end(const struct tls_stream *stream)
{
    return stream->end.code || tls_session_pending(stream->session);
}
