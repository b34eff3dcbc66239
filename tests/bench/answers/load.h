/* Command-line options that the load generators share. Single-threaded. */
#ifndef BENCH_ANSWERS_LOAD_H
#define BENCH_ANSWERS_LOAD_H

#include <stdint.h>

#include "common/base/addr.h"
#include "common/base/flags.h"
#include "tests/bench/answers/queries.h"
#include "tests/bench/bench.h"

struct load {
    struct addr server;
    struct queries queries; /* for queries_fini */
    const char *pids;       /* the server's processes, for struct meter */
    uint64_t run_ns, warm_up_ns;
};

/* Up to LOAD_FLAGS_MAX flags of the generator's own in addition to -server, -questions, -edns,
 * -dnssec, -pids, -run and -warm-up. Any error exits with a message and status 2; -help with status
 * 0. */
enum { LOAD_FLAGS_MAX = 8 };
void load_parse(int argc, char *const *argv, const struct flags *own, struct load *ret_load);

/* A TCP socket that is about to be connected; closing it resets the connection. */
int load_connect(const struct addr *server);

#endif
