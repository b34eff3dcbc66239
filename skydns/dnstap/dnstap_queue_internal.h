/* Passes frames from one thread that answers to the one that sends them: a ring of bytes with one
 * writer and one reader, without locks. Nobody waits: frames that find no room are dropped. */
#ifndef SKYDNS_DNSTAP_DNSTAP_QUEUE_INTERNAL_H
#define SKYDNS_DNSTAP_DNSTAP_QUEUE_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/metrics.h"
#include "common/base/slice.h"

enum {
    /* Size of the ring. A busy thread fills about 20 MB/s, so a sink may lag behind by 50 ms, or by
     * 16 of the longest messages. The memory is used as it fills. */
    DNSTAP_QUEUE_BYTES = 1024 * 1024,
};

struct dnstap_queue {
    /* Fields of the writer. */
    _Alignas(COUNTERS_ALIGN) _Atomic uint64_t head; /* bytes written since it exists */
    uint64_t seen_tail;                             /* at least that much has been read */
    struct counter dropped;                         /* frames without room */
    /* Fields of the reader. */
    _Alignas(COUNTERS_ALIGN) _Atomic uint64_t tail; /* bytes read */
    uint8_t *bytes;                                 /* owned */
};

struct dnstap_queue *dnstap_queue_new(void);
void dnstap_queue_free(struct dnstap_queue *queue); /* NULL is fine */

/* Returns room for a frame of at most that size; NULL: there is none, and it counts as dropped.
 * Writer. */
uint8_t *dnstap_queue_begin(struct dnstap_queue *queue, size_t max);
/* Commits the frame with its size, which is not larger; the reader may see it. */
void dnstap_queue_commit(struct dnstap_queue *queue, uint8_t *frame, size_t len);

/* Returns how many frames there are, up to max, oldest first. They stay until dnstap_queue_drop
 * with their end. Reader. */
size_t dnstap_queue_peek(const struct dnstap_queue *queue, struct slice *ret_frames, size_t max,
                         uint64_t *ret_end);
void dnstap_queue_drop(struct dnstap_queue *queue, uint64_t end);
bool dnstap_queue_is_empty(const struct dnstap_queue *queue);

#endif
