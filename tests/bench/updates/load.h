/* Queries to one worker at a steady rate, whether answered or not (an open loop), from their own
 * thread, and the end-to-end latency of the answers. */
#ifndef TESTS_BENCH_UPDATES_LOAD_H
#define TESTS_BENCH_UPDATES_LOAD_H

#include "common/base/addr.h"
#include "tests/bench/updates/hooks.h"

struct load;

struct load_sums {
    struct fine_histogram latency;
    uint64_t sent;
    uint64_t answered;
    uint64_t wrong; /* answered, but not right */
};

struct load_config {
    struct addr server;
    unsigned services; /* queried at random */
    unsigned queries_per_s;
    unsigned burst; /* number sent at once */
};

/* Main thread. */
struct load *load_start(const struct load_config *config);
void load_set_phase(struct load *load, enum hooks_phase phase);

/* Waits for the last answers, then ends the thread. */
void load_stop(struct load *load);
const struct load_sums *load_sums(const struct load *load, enum hooks_phase phase); /* stopped */
void load_free(struct load *load);

#endif
