/* Splits the body of a watch into events, wherever the network split it: JSON lines, or protobuf
 * messages after their length (four bytes, big-endian). Complete events are returned in place; only
 * split ones are copied. Pure; owned by one request of kube_client.c.
 *
 *     kube_frames_push(&frames, bytes);
 *     while (kube_frames_next(&frames, &frame)) { ... }
 *     if (frames.failed) { ... }
 */
#ifndef KUBE2SKY_API_KUBE_FRAMES_INTERNAL_H
#define KUBE2SKY_API_KUBE_FRAMES_INTERNAL_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/slice.h"
#include "kube2sky/api/kube_object.h"

struct kube_frames {
    enum kube_encoding encoding;
    struct buf partial;  /* the beginning of an incomplete frame */
    struct slice input;  /* pushed and not yet examined */
    bool is_partial_out; /* the last returned frame was assembled in partial */
    bool failed;         /* a frame over KUBE_FRAME_MAX; sticky */
};

void kube_frames_init(struct kube_frames *frames, enum kube_encoding encoding);
void kube_frames_fini(struct kube_frames *frames);

/* Adds input, which the caller owns and which must stay valid until kube_frames_next has returned
 * false. */
void kube_frames_push(struct kube_frames *frames, struct slice bytes);

/* Sets the next event, without its newline or length; empty ones are skipped. It is borrowed until
 * the next call. Returns false if input is exhausted, or the frames failed. */
bool kube_frames_next(struct kube_frames *frames, struct slice *ret_frame);

#endif
