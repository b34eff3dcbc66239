/* Serves DNS over HTTP/2 on one connection: an adapter between common/http2 and doh_request,
 * doh_reply. Responses go out as they are ready. A connection ends after DOH_REFUSED_MAX refused
 * requests, or for the reasons that http2_server.h lists. */
#ifndef SKYDNS_DOH_DOH_HTTP2_INTERNAL_H
#define SKYDNS_DOH_DOH_HTTP2_INTERNAL_H

#include "skydns/streams/stream_protocol.h"

struct doh_http2;

/* Implement struct stream_protocol. */
struct doh_http2 *doh_http2_new(struct stream_host *host);
void doh_http2_free(struct doh_http2 *stream);
enum stream_take doh_http2_take(struct doh_http2 *stream, const uint8_t *bytes, size_t len,
                                size_t *ret_taken);
void doh_http2_reply(struct doh_http2 *stream, uint64_t tag, const struct response *response);
bool doh_http2_flush(struct doh_http2 *stream);
void doh_http2_drain(struct doh_http2 *stream);
size_t doh_http2_memory(const struct doh_http2 *stream);

#endif
