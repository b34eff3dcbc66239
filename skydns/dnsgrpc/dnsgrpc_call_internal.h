/* Reads the query from a call's bytes and writes the response's. The framing of gRPC (a flag, a
 * length, a message) and the one field of the message are written by hand: that is less than
 * generated code needs in glue, and takes no memory. Pure. */
#ifndef SKYDNS_DNSGRPC_DNSGRPC_CALL_INTERNAL_H
#define SKYDNS_DNSGRPC_DNSGRPC_CALL_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "skydns/wire/query.h"

enum dnsgrpc_status {
    DNSGRPC_OK = 0,
    DNSGRPC_INVALID_ARGUMENT = 3,
    DNSGRPC_RESOURCE_EXHAUSTED = 8,
    DNSGRPC_UNIMPLEMENTED = 12,
    DNSGRPC_UNAVAILABLE = 14, /* the query gets no reply; asking again may help */
};

struct dnsgrpc_result {
    enum dnsgrpc_status status;
    const char *message; /* for people: what was wrong, and nothing of the request; printable ASCII
                          * without %, which needs no encoding */
};

/* Accepts `application/grpc`, alone, with `+proto` or with parameters. */
bool dnsgrpc_is_content_type(struct slice content_type);

struct dnsgrpc_request {
    struct slice path, body;
    bool is_cut_off; /* a field or the body was longer than what is read */
};

/* Reads the query. OK: it is one (question_is_there), borrowed from the body. */
struct dnsgrpc_result dnsgrpc_call_query(const struct dnsgrpc_request *request,
                                         struct slice *ret_query) MUST_CHECK;

/* Room before the response in the body: a frame's head, a field's tag and length. */
enum { DNSGRPC_PREFIX_MAX = 5 + 1 + 3 };

/* Writes the body of a response, of at most ENGINE_REPLY_MAX bytes; returns its length. */
size_t dnsgrpc_call_reply(const uint8_t *reply, size_t len,
                          uint8_t out[DNSGRPC_PREFIX_MAX + ENGINE_REPLY_MAX]);

#endif
