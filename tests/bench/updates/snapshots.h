/* Snapshots, one after the other, of the versions that the benchmark publishes meanwhile, as
 * skydns writes them: by skydns's own thread, which may run on any processor. Main thread. */
#ifndef TESTS_BENCH_UPDATES_SNAPSHOTS_H
#define TESTS_BENCH_UPDATES_SNAPSHOTS_H

#include <stdbool.h>
#include <stdint.h>

struct publisher;
struct snapshots;

struct snapshots_sums {
    uint64_t writes;
    uint64_t bytes;         /* of these files */
    uint64_t bytes_to_disk; /* as the kernel counts them */
    uint64_t write_ns;      /* from the image to the renamed file */
    double resident_mib_max;
};

/* The file is written to this path, which must be on a disk, or the benchmark ends. Every interval,
 * or at once when that is 0. */
struct snapshots *snapshots_new(struct publisher *publisher, const char *path,
                                uint64_t interval_ns);
void snapshots_free(struct snapshots *snapshots); /* NULL is fine */

/* Begins a write when due and takes note of the one that has ended: call it again and again. */
void snapshots_turn(struct snapshots *snapshots);

/* Waits for the one under way. */
void snapshots_pause(struct snapshots *snapshots);

const struct snapshots_sums *snapshots_sums(const struct snapshots *snapshots);

double resident_mib(void);

#endif
