/* DNS over HTTP/1.1 (RFC 9112) on one connection. Requests may be pipelined. Each becomes a query
 * at once, but responses keep the requests' order, so a late one holds up those behind it:
 *
 *     head ─┬─ GET ─────────────────────────────▶ query ─▶ reply: put, or held behind earlier ones
 *           ├─ POST ─ body, or chunks ──────────▶ query
 *           ╰─ refused: the status, and the body is passed over ─▶ head ...
 *
 * A connection ends after `Connection: close`, HTTP/1.0 without keep-alive, DOH_REFUSED_MAX refused
 * requests, DOH_HELD_MAX that wait for one late reply, a query in chunks that is too long, or bytes
 * that are no HTTP. The last reply says so; a client asks again for what it has sent behind that
 * (RFC 9112 9.3.2). */
#ifndef SKYDNS_DOH_DOH_HTTP1_INTERNAL_H
#define SKYDNS_DOH_DOH_HTTP1_INTERNAL_H

#include "skydns/streams/stream_protocol.h"
#include "skydns/streams/tcp_server.h"

struct doh_http1;

enum {
    /* Limits responses in order behind a late one: twice as many as may be late. No client that we
     * know has more than a handful. */
    DOH_HELD_MAX = 2 * TCP_WAITING_MAX,
    DOH_HELD_BYTES_MAX = 128 * 1024, /* of those ready; exceeded by one reply */
    /* Limits how much of a refused body is skipped: a client that sends it before it reads gets the
     * response, and the connection lives on. A body that is announced longer ends the connection.
     * Chunks refused for their length end it, too, but only after this much: before, a client that
     * still sends might lose the response. */
    DOH_SKIPPED_MAX = 1 << 20,
};

/* Implement struct stream_protocol. */
struct doh_http1 *doh_http1_new(struct stream_host *host);
void doh_http1_free(struct doh_http1 *stream);
enum stream_take doh_http1_take(struct doh_http1 *stream, const uint8_t *bytes, size_t len,
                                size_t *ret_taken);
void doh_http1_reply(struct doh_http1 *stream, uint64_t tag, const struct response *response);
bool doh_http1_flush(struct doh_http1 *stream);
void doh_http1_drain(struct doh_http1 *stream);
size_t doh_http1_memory(const struct doh_http1 *stream);

#endif
