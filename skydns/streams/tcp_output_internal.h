/* Holds what a connection's socket has no room for yet, in blocks: however much that is, no byte
 * moves, and memory comes and goes a block at a time. In one piece, the 3 MB of a client that reads
 * slowly take others two milliseconds to free alone. One thread. */
#ifndef SKYDNS_STREAMS_TCP_OUTPUT_INTERNAL_H
#define SKYDNS_STREAMS_TCP_OUTPUT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/slice.h"

struct tcp_block;

/* All zero: holds nothing. */
struct tcp_output {
    size_t len;    /* bytes that wait, TCP_OUTPUT_MAX at most */
    size_t memory; /* of the blocks */
    bool is_full;  /* some did not fit, and are lost */
    struct tcp_block *first, *last;
};

void tcp_output_free(struct tcp_output *output); /* the blocks */

/* Appends a copy of the bytes. */
void tcp_output_hold(struct tcp_output *output, const uint8_t *bytes, size_t len);

/* Returns the bytes to send next, of the first block: 20 us for the socket to take. There are some.
 * If it takes fewer, the next call gives the others again, perhaps with more behind them. */
struct slice tcp_output_next(const struct tcp_output *output);

/* Forgets the first bytes, so many of tcp_output_next's. */
void tcp_output_sent(struct tcp_output *output, size_t len);

#endif
