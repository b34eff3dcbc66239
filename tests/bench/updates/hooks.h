/* Lets the benchmark watch skydns from outside: the linker substitutes these functions for calls
 * that udp_server, worker, publisher and xalloc make (--wrap, in the Makefile). So the measured
 * code is the program's own, without a line for measuring.
 *
 *     recvmmsg returns --- publisher_enter ... publisher_leave --- sendmmsg is called
 *        `---------------------- a worker's own time ----------------'
 *
 * Each worker's thread has a struct batch_times of its own. */
#ifndef TESTS_BENCH_UPDATES_HOOKS_H
#define TESTS_BENCH_UPDATES_HOOKS_H

#include <sys/socket.h>

#include "skydns/publish/publisher.h"
#include "tests/bench/bench.h"
#include "tests/bench/histogram.h"

enum { HOOKS_WORKERS_MAX = 8 };

/* Phases; each has its own figures. */
enum hooks_phase {
    PHASE_NONE,
    PHASE_IDLE,
    PHASE_WRITING, /* snapshots */
    PHASE_UPDATES,
    PHASE_BOTH, /* updates and snapshots */
    PHASES,
};

struct batch_times {
    struct fine_histogram wall; /* from recvmmsg's return to sendmmsg's call */
    struct fine_histogram cpu;  /* the same, as the thread's own CPU time */
    struct fine_histogram
        old; /* how long after a publication the previous version still served answers */
    uint64_t packets;
};

/* Main thread, first: touches the memory of the hooks, so that it does not look like growth. */
void hooks_init(void);

/* Main thread. */
void hooks_set_phase(enum hooks_phase phase);

/* After all workers have ended: the sum over all workers that got packets. */
void hooks_sum(enum hooks_phase phase, struct batch_times *ret_times);

/* Main thread: notes that this version is about to be published, and what it replaced. */
void hooks_publishing(const struct store *store, const struct store_garbage *garbage);

/* Replaced versions, as the main thread saw them: how many are not freed yet, and how long each was
 * kept. */
uint64_t hooks_versions_waiting(void);
const struct fine_histogram *hooks_versions_cached(void);

/* Return the bytes and the allocations of this thread so far, through xalloc and the record store's
 * pool. */
uint64_t hooks_allocated_bytes(void);
uint64_t hooks_allocations(void);

/* The real calls, for benchmark code that must not be measured. */
int hooks_recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags);
int hooks_sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags);

#endif
