#include "skydns/dnstap/dnstap_queue_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"

/* Size of a frame's length. Each frame follows its length and begins at a multiple of 8. If it does
 * not fit before the end of the ring, this length says that it is at the beginning. */
enum { LENGTH_BYTES = 8 };
static const uint64_t elsewhere = UINT64_MAX;

static size_t dnstap_queue_rounded(size_t len)
{
    return (len + LENGTH_BYTES - 1) / LENGTH_BYTES * LENGTH_BYTES;
}

static uint8_t *dnstap_queue_at(const struct dnstap_queue *queue, uint64_t position)
{
    return queue->bytes + position % DNSTAP_QUEUE_BYTES;
}

struct dnstap_queue *dnstap_queue_new(void)
{
    struct dnstap_queue *queue = xcalloc_aligned(COUNTERS_ALIGN, sizeof(*queue));
    queue->bytes = xmalloc(DNSTAP_QUEUE_BYTES);
    return queue;
}

void dnstap_queue_free(struct dnstap_queue *queue)
{
    if (queue) {
        free(queue->bytes);
        free(queue);
    }
}

static bool dnstap_queue_has_room(struct dnstap_queue *queue, uint64_t head, size_t needed)
{
    if (head + needed - queue->seen_tail <= DNSTAP_QUEUE_BYTES) {
        return true;
    }
    queue->seen_tail = atomic_load_explicit(&queue->tail, memory_order_acquire);
    return head + needed - queue->seen_tail <= DNSTAP_QUEUE_BYTES;
}

uint8_t *dnstap_queue_begin(struct dnstap_queue *queue, size_t max)
{
    uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
    size_t needed = LENGTH_BYTES + dnstap_queue_rounded(max);
    size_t to_end = DNSTAP_QUEUE_BYTES - head % DNSTAP_QUEUE_BYTES;
    size_t skipped = needed > to_end ? to_end : 0;
    if (!dnstap_queue_has_room(queue, head, skipped + needed)) {
        counter_add(&queue->dropped, 1);
        return NULL;
    }
    if (skipped > 0) {
        memcpy(dnstap_queue_at(queue, head), &elsewhere, LENGTH_BYTES);
    }
    return dnstap_queue_at(queue, head + skipped) + LENGTH_BYTES;
}

void dnstap_queue_commit(struct dnstap_queue *queue, uint8_t *frame, size_t len)
{
    uint64_t head = atomic_load_explicit(&queue->head, memory_order_relaxed);
    uint64_t length = len;
    uint8_t *begin = frame - LENGTH_BYTES;
    memcpy(begin, &length, LENGTH_BYTES);
    if (begin != dnstap_queue_at(queue, head)) {
        head += DNSTAP_QUEUE_BYTES - head % DNSTAP_QUEUE_BYTES;
    }
    /* Ordered before the look at whether the reader sleeps (dnstap.c). */
    atomic_store_explicit(&queue->head, head + LENGTH_BYTES + dnstap_queue_rounded(len),
                          memory_order_seq_cst);
}

size_t dnstap_queue_peek(const struct dnstap_queue *queue, struct slice *ret_frames, size_t max,
                         uint64_t *ret_end)
{
    uint64_t head = atomic_load_explicit(&queue->head, memory_order_seq_cst);
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed);
    size_t count = 0;
    while (count < max && tail != head) {
        uint64_t length;
        memcpy(&length, dnstap_queue_at(queue, tail), LENGTH_BYTES);
        if (length == elsewhere) {
            tail += DNSTAP_QUEUE_BYTES - tail % DNSTAP_QUEUE_BYTES;
            continue;
        }
        ret_frames[count++] = slice_of(dnstap_queue_at(queue, tail) + LENGTH_BYTES, length);
        tail += LENGTH_BYTES + dnstap_queue_rounded(length);
    }
    *ret_end = tail;
    return count;
}

void dnstap_queue_drop(struct dnstap_queue *queue, uint64_t end)
{
    atomic_store_explicit(&queue->tail, end, memory_order_release);
}

bool dnstap_queue_is_empty(const struct dnstap_queue *queue)
{
    return atomic_load_explicit(&queue->head, memory_order_seq_cst) ==
           atomic_load_explicit(&queue->tail, memory_order_relaxed);
}
