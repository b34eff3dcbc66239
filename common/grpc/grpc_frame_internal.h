/* The parts of gRPC over HTTP/2 that need no connection: messages, grpc-message text, status names.
 *
 * Messages are reassembled from DATA chunks: one flag byte, four length bytes, the message. Used by
 * grpc.c and by tests and fuzzing. Pure; any thread. */
#ifndef COMMON_GRPC_GRPC_FRAME_INTERNAL_H
#define COMMON_GRPC_GRPC_FRAME_INTERNAL_H

#include "common/base/attributes.h"
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/slice.h"

enum { GRPC_FRAME_HEADER = 5 };

/* Reassembles one stream's messages. */
struct grpc_frames {
    struct buf bytes;   /* received; from `pos` on not yet returned */
    size_t pos;         /* where the next message's header starts */
    size_t message_max; /* a longer one is rejected at its header */
};

void grpc_frames_init(struct grpc_frames *frames, size_t message_max);
void grpc_frames_fini(struct grpc_frames *frames);

/* Adds received bytes; chunks are at most a DATA frame. grpc_frames_next must have returned 0 or an
 * error since the last push. */
void grpc_frames_push(struct grpc_frames *frames, struct slice chunk);

/* Returns 1 with the next whole message, borrowed until the next call; 0 if more bytes are needed;
 * ERR_TOO_LARGE, or ERR_PROTOCOL for a compressed or malformed frame: the stream is then
 * unusable. */
int grpc_frames_next(struct grpc_frames *frames, struct slice *ret_message,
                     struct err *err) MUST_CHECK;

/* Returns true when the bytes so far end inside a message. */
bool grpc_frames_is_partial(const struct grpc_frames *frames);

/* Appends the header of a message of len bytes. */
void grpc_frame_header(struct buf *out, size_t len);

/* Decodes grpc-message to text: %XX decoded, broken escapes as they are, control bytes replaced by
 * spaces (the text goes into a log line). Cut to out_size - 1 bytes. Returns out. */
const char *grpc_percent_decode(struct slice text, char *out, size_t out_size);

/* Parses grpc-status: decimal, 0-16; returns -1 for anything else. */
int grpc_status_parse(struct slice text);

/* Returns "permission denied", for a status that came without a message. Never NULL. */
const char *grpc_status_text(int status);

/* Returns the err.h code of a status other than 0: what a caller can do about it. */
int grpc_status_code(int status);

#endif
