/* A gRPC server on the test's own loop, on a free port of 127.0.0.1, that answers each call as the
 * test says and counts requests: for tests of when a client connects, pings and disconnects.
 * Failures fail the running cmocka test. */
#ifndef TESTS_SUPPORT_GRPC_PEER_H
#define TESTS_SUPPORT_GRPC_PEER_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"

struct grpc_peer;

/* Appends the HTTP/2 frames (h2_bytes.h) that answer the call, or none. is_long: the client's side
 * stays open, as a watch's. */
typedef void (*grpc_peer_answer)(struct buf *out, uint32_t stream, bool is_long);

struct grpc_peer *grpc_peer_new(struct ev_loop *loop, grpc_peer_answer answer);
void grpc_peer_free(struct grpc_peer *peer); /* NULL is fine */

const char *grpc_peer_url(const struct grpc_peer *peer); /* "http://127.0.0.1:PORT" */

/* Sends GOAWAY with this code and text on every open connection and closes it. */
void grpc_peer_go_away(struct grpc_peer *peer, uint32_t code, const char *text);

/* Closes the oldest connection without a GOAWAY. */
void grpc_peer_hang_up(struct grpc_peer *peer);

struct grpc_peer_counts {
    unsigned accepted; /* connections so far */
    unsigned open;     /* right now */
    unsigned calls;
    unsigned pings;
};

const struct grpc_peer_counts *grpc_peer_counts(const struct grpc_peer *peer);

/* ---- Answers ---- */

/* A unary call: an empty message and status 0. A long one: an empty message, and the stream stays
 * open. */
void grpc_peer_yes(struct buf *out, uint32_t stream, bool is_long);

void grpc_peer_silence(struct buf *out, uint32_t stream, bool is_long);

#endif
