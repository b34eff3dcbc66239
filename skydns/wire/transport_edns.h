/* Options of EDNS that belong to the transport rather than to the answer: padding, so that the
 * length of what is encrypted says little (RFC 7830, RFC 8467), and how long an idle connection
 * stays open (RFC 7828). A reply has them only if its query had; plain TCP has neither. Pure; any
 * thread. */
#ifndef SKYDNS_WIRE_TRANSPORT_EDNS_H
#define SKYDNS_WIRE_TRANSPORT_EDNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skydns/wire/query.h"

/* RFC 8467 4.1: replies have a multiple of this length. */
enum { TRANSPORT_PADDING_BLOCK = 468 };

/* What a query asks for. */
struct transport_edns {
    bool wants_padding;   /* over TLS, HTTPS and HTTP, which a proxy may encrypt */
    bool wants_keepalive; /* over TLS */
};

/* Messages that make no sense ask for nothing. */
struct transport_edns transport_edns_read(enum engine_transport transport, const uint8_t *query,
                                          size_t len);

/* Adds to a reply, in a buffer of ENGINE_REPLY_MAX bytes, what fits; returns its new length. One
 * whose last record is not OPT stays as it is. */
size_t transport_edns_add(const struct transport_edns *edns, uint32_t idle_ms, uint8_t *reply,
                          size_t len);

#endif
