#include "skydns/streams/tcp_output_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/xalloc.h"
#include "skydns/streams/tcp_server.h"

/* Fits one send, and is less than malloc takes from the kernel each time. */
enum { BLOCK_MAX = 64 << 10 };

struct tcp_block {
    struct tcp_block *next;
    size_t at, len, size; /* sent up to `at` */
    uint8_t bytes[];
};

static struct tcp_block *tcp_output_remove_first(struct tcp_output *o)
{
    struct tcp_block *block = o->first;
    o->memory -= sizeof(*block) + block->size;
    o->first = block->next;
    o->last = o->first ? o->last : NULL;
    return block;
}

void tcp_output_free(struct tcp_output *output)
{
    while (output->first) {
        free(tcp_output_remove_first(output));
    }
}

/* Adds a block that doubles what is held: few clients are slow, and most by little. */
static void tcp_output_add_block(struct tcp_output *o, size_t wanted)
{
    const size_t size = o->len + wanted < BLOCK_MAX ? o->len + wanted : BLOCK_MAX;
    struct tcp_block *block = xmalloc(sizeof(*block) + size);
    *block = (struct tcp_block){.size = size};
    o->memory += sizeof(*block) + size;
    *(o->last ? &o->last->next : &o->first) = block;
    o->last = block;
}

void tcp_output_hold(struct tcp_output *output, const uint8_t *bytes, size_t len)
{
    struct tcp_output *o = output;
    o->is_full = o->is_full || len > TCP_OUTPUT_MAX - o->len;
    while (len > 0 && !o->is_full) {
        if (!o->last || o->last->len == o->last->size) {
            tcp_output_add_block(o, len);
        }
        struct tcp_block *last = o->last;
        const size_t room = last->size - last->len, n = len < room ? len : room;
        memcpy(last->bytes + last->len, bytes, n);
        last->len += n;
        o->len += n;
        bytes += n;
        len -= n;
    }
}

struct slice tcp_output_next(const struct tcp_output *output)
{
    const struct tcp_block *first = output->first;
    assert(first && first->at < first->len);
    return slice_of(first->bytes + first->at, first->len - first->at);
}

void tcp_output_sent(struct tcp_output *output, size_t len)
{
    struct tcp_block *first = output->first;
    assert(len <= first->len - first->at);
    first->at += len;
    output->len -= len;
    if (first->at == first->len) {
        free(tcp_output_remove_first(output));
    }
}
