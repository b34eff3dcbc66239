/* Measurements of the load generators: time, CPU time of the server and their own, latencies, kinds
 * of answers; and their output, one `name value` per line. Single-threaded. */
#ifndef BENCH_ANSWERS_METER_H
#define BENCH_ANSWERS_METER_H

#include <stddef.h>
#include <stdint.h>

#include "tests/bench/histogram.h"

struct meter {
    const char *server_pids; /* "12,34"; "" for none. Borrowed */
    uint64_t start_ns;
    double server_cpu_ns, own_cpu_ns; /* at the start */
    uint64_t sent, lost, errors, connections;
    uint64_t answers; /* of these: */
    uint64_t with_records, nodata, nxdomain, others;
    struct fine_histogram latencies;
};

uint64_t meter_now_ns(void);

/* Resets all counts after the warm-up. */
void meter_start(struct meter *meter);

/* Counts an answer by kind, from the message's first 12 bytes. */
void meter_answer(struct meter *meter, const uint8_t *header);

/* Counts the complete answers at the start of what a stream has sent, with DNS's framing, and
 * removes them; returns how many. */
int64_t meter_frames(struct meter *meter, uint8_t *input, size_t *len);

/* Prints the counts since meter_start to stdout. */
void meter_print(const struct meter *meter);

#endif
