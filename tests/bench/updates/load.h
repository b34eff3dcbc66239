/* Queries to one worker at a steady rate, whatever becomes of them (an open loop), from a thread of
 * their own, and how long the answers took from end to end. */
#ifndef TESTS_BENCH_UPDATES_LOAD_H
#define TESTS_BENCH_UPDATES_LOAD_H

#include "common/base/addr.h"
#include "tests/bench/updates/hooks.h"

struct load;

struct load_sums {
    struct histogram latency;
    uint64_t sent;
    uint64_t answered;
    uint64_t wrong; /* answered, but not right */
};

struct load_config {
    struct addr server;
    unsigned services; /* asked about at random */
    unsigned queries_per_s;
    unsigned burst; /* that many are sent at once */
};

/* Main thread. */
struct load *load_start(const struct load_config *config);
void load_set_phase(struct load *load, enum hooks_phase phase);

/* Ends it, once the last answers have come. */
void load_stop(struct load *load);
const struct load_sums *load_sums(const struct load *load, enum hooks_phase phase); /* stopped */
void load_free(struct load *load);

#endif
