/* Splits a stream into DNS messages: each follows its length in two bytes (RFC 1035 4.2.2). Pure.
 */
#ifndef SKYDNS_UPSTREAM_FRAME_READER_INTERNAL_H
#define SKYDNS_UPSTREAM_FRAME_READER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"

struct frame_reader {
    struct buf held; /* the beginning of a message; no memory while there is none */
};

void frame_reader_init(struct frame_reader *reader);
void frame_reader_fini(struct frame_reader *reader);

/* Gets each complete message, borrowed during the call. Returns false to stop the reader. It must
 * not call frame_reader_take or frame_reader_fini. */
typedef bool (*frame_cb)(void *data, const uint8_t *message, size_t len);

/* Takes bytes, split anyhow. Returns false when the callback did; the rest is lost. */
bool frame_reader_take(struct frame_reader *reader, const uint8_t *bytes, size_t len,
                       frame_cb frame, void *data);

#endif
