/* Cuts the body of a watch into events, however the network cut it: lines of JSON, or messages of
 * protobuf behind their length (four bytes, big-endian). An event that came whole is handed out
 * where it lies; only what is cut is copied. Pure; owned by one request of kube_client.c.
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
    struct buf partial;  /* the beginning of a frame whose end has not come */
    struct slice input;  /* pushed and not yet looked at */
    bool is_partial_out; /* the frame last handed out was put together in partial */
    bool failed;         /* a frame over KUBE_FRAME_MAX; sticky */
};

void kube_frames_init(struct kube_frames *frames, enum kube_encoding encoding);
void kube_frames_fini(struct kube_frames *frames);

/* bytes stay the caller's, and must stay until kube_frames_next has returned false. */
void kube_frames_push(struct kube_frames *frames, struct slice bytes);

/* The next event, without its newline or length; empty ones are left out. Borrowed until the next
 * call. False: the input is used up, or failed. */
bool kube_frames_next(struct kube_frames *frames, struct slice *ret_frame);

#endif
