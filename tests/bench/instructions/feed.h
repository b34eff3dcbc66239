/* The kernel's place beside a worker: it receives batches of questions and sends their replies, and
 * neither passes a socket. The linker substitutes this file's functions for recvmmsg and sendmmsg
 * (--wrap, in the Makefile), so that what is counted is the program's own code, from the return of
 * recvmmsg to its next call, less sendmmsg. It also substitutes getrandom and clock_gettime: seeds
 * and times are the same in every run.
 *
 *     main thread           the worker's thread
 *     feed_begin
 *     worker_start          recvmmsg: WARM batches of a kind, uncounted; COUNTED batches; a dump
 *                           of callgrind's that has the kind's name; the next kind
 *     worker_join           after the last kind: stops the server
 *
 * One worker at a time. A wrong reply ends the process with status 1. */
#ifndef TESTS_BENCH_INSTRUCTIONS_FEED_H
#define TESTS_BENCH_INSTRUCTIONS_FEED_H

#include <stddef.h>

#include "skydns/udp/udp_server.h"
#include "tests/bench/instructions/kinds.h"

enum {
    /* Counts of batches: after the warm-up, lazily made state exists, and each address has been
     * used once. */
    FEED_WARM = 4,
    /* One of them has the kernel's times (UDP_TIMED_BATCHES), as it is in the long run. */
    FEED_COUNTED = UDP_TIMED_BATCHES,
};

/* The time, whatever the clock: 17 October 2025, 12:34:56 UTC. */
enum { FEED_NOW_S = 1760704496 };

/* The i-th question's number: a batch's names are far from each other. */
static inline unsigned feed_number(unsigned i)
{
    enum { A_PRIME = 7919 };
    return i * A_PRIME;
}

/* Everything is borrowed until the worker has ended. `udp` answers on a wildcard address. */
void feed_begin(struct udp_server *udp, const struct kind *kinds, size_t count);

#endif
