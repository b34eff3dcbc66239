/* Serves DNS over HTTPS (RFC 8484), and over HTTP behind proxies that have the certificates. The
 * connections are those to `https://` and `http://` addresses. HTTP/1.1 and HTTP/2 are told apart
 * by HTTP/2's preface, so that a client without TLS needs no upgrade.
 *
 *     connection ─ doh ─┬─ doh_http1: http_head, http_chunks ╮
 *                       ╰─ doh_http2: common/http2 ──────────┴─ doh_request ─▶ query
 *                          either ◀─ doh_reply: status, max-age ◀─ reply
 *
 * Queries are at /dns-query. Only on the thread of the connection's loop. */
#ifndef SKYDNS_DOH_DOH_H
#define SKYDNS_DOH_DOH_H

#include "skydns/streams/stream_protocol.h"

extern const struct stream_protocol doh_protocol;

#endif
