/* Encodes an image as a snapshot's bytes, in pieces, so that a copy of all records never lies in
 * memory. Pure but for the sink; any thread. The format is in snapshot_format_internal.h. */
#ifndef SKYDNS_SNAPSHOT_SNAPSHOT_ENCODE_INTERNAL_H
#define SKYDNS_SNAPSHOT_SNAPSHOT_ENCODE_INTERNAL_H

#include <stdint.h>

#include "common/base/attributes.h"
#include "common/base/slice.h"
#include "skydns/snapshot/snapshot_format_internal.h"

/* Takes the next bytes, at most SNAPSHOT_PIECE_MAX, borrowed for the call. A result other than 0
 * ends the encoding with it. */
typedef int (*snapshot_sink)(void *data, struct slice piece);

/* Encodes; returns 0, or what the sink returned. After that, the image's store is not touched.
 * now_s: time up to which the records' ages count, clock_monotonic_ms in seconds. */
int snapshot_encode(const struct snapshot_image *image, uint32_t now_s, snapshot_sink sink,
                    void *data) MUST_CHECK;

#endif
