#include "tests/bench/updates/snapshots.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/xalloc.h"
#include "skydns/publish/publisher.h"
#include "skydns/snapshot/snapshot_writer.h"
#include "tests/bench/bench.h"
#include "tests/bench/histogram.h"

enum { WAIT_MS = 60000 };

struct snapshots {
    struct ev_loop *loop;
    struct publisher *publisher;
    struct snapshot_writer *writer;
    uint64_t interval_ns;
    uint64_t begun_ns; /* the last one; 0: none */
    uint64_t disk_before;
    cpu_set_t processors; /* all of them */
    struct snapshots_sums sums;
};

/* The writer's thread gives itself the lowest priority. Where the benchmark goes before all other
 * processes (updates.py --first), that would be behind those: it goes before them, too, but behind
 * the benchmark's threads. */
int __real_sched_setscheduler(pid_t pid, int policy, const struct sched_param *param);
int __wrap_sched_setscheduler(pid_t pid, int policy, const struct sched_param *param);

int __wrap_sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
    const struct sched_param behind = {.sched_priority = 1};
    bool is_first = sched_getscheduler(0) == SCHED_RR;
    return __real_sched_setscheduler(pid, is_first ? SCHED_RR : policy, is_first ? &behind : param);
}

double resident_mib(void)
{
    unsigned long size, resident = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm || fscanf(statm, "%lu %lu", &size, &resident) != 2) {
        bench_fail("/proc/self/statm", strerror(errno));
    }
    (void)fclose(statm);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

/* Dirtied pages count when they are dirtied; on a file system in memory nothing does. */
static uint64_t bytes_to_disk(void)
{
    char line[128];
    uint64_t bytes = 0;
    FILE *io = fopen("/proc/self/io", "r");
    if (!io) {
        bench_fail("/proc/self/io", strerror(errno));
    }
    while (fgets(line, sizeof(line), io)) {
        if (strncmp(line, "write_bytes: ", sizeof("write_bytes: ") - 1) == 0) {
            bytes = strtoull(line + sizeof("write_bytes: ") - 1, NULL, 10);
        }
    }
    (void)fclose(io); /* only read from */
    return bytes;
}

static void snapshots_on_written(void *data, const struct snapshot_header *header, size_t bytes,
                                 const struct err *err)
{
    struct snapshots *s = data;
    (void)header;
    if (err) {
        (void)fprintf(stderr, "bench_updates: %s\n", err->msg);
        exit(2);
    }
    s->sums.writes++;
    s->sums.bytes += bytes;
    s->sums.write_ns += clock_ns(CLOCK_MONOTONIC) - s->begun_ns;
}

struct snapshots *snapshots_new(struct publisher *publisher, const char *path, uint64_t interval_ns)
{
    struct snapshots *s = xcalloc(1, sizeof(*s));
    s->loop = ev_loop_new(EVFLAG_AUTO);
    s->publisher = publisher;
    s->interval_ns = interval_ns;
    s->disk_before = bytes_to_disk();
    if (sched_getaffinity(0, sizeof(s->processors), &s->processors) < 0) {
        bench_fail("sched_getaffinity", strerror(errno));
    }
    s->writer =
        snapshot_writer_new(&(struct snapshot_writer_config){.loop = s->loop,
                                                             .publisher = publisher,
                                                             .path = path,
                                                             .written = snapshots_on_written,
                                                             .data = s});
    return s;
}

void snapshots_free(struct snapshots *snapshots)
{
    if (snapshots) {
        snapshot_writer_free(snapshots->writer);
        ev_loop_destroy(snapshots->loop);
        free(snapshots);
    }
}

/* The thread gets the processors of the one that starts it. */
static void snapshots_begin(struct snapshots *s)
{
    cpu_set_t mine;
    struct snapshot_image image;
    snapshot_image_init(&image);
    (void)snprintf(image.header.prefix, sizeof(image.header.prefix), "/skydns/");
    image.header.domain.len = 1;
    image.store = publisher_pin(s->publisher);
    image.header.revision = store_revision(image.store);
    s->begun_ns = clock_ns(CLOCK_MONOTONIC);
    if (sched_getaffinity(0, sizeof(mine), &mine) < 0 ||
        sched_setaffinity(0, sizeof(s->processors), &s->processors) < 0 ||
        !snapshot_writer_write(s->writer, &image) ||
        sched_setaffinity(0, sizeof(mine), &mine) < 0) {
        bench_fail("begin a snapshot", strerror(errno));
    }
}

void snapshots_turn(struct snapshots *snapshots)
{
    struct snapshots *s = snapshots;
    double mib = resident_mib();
    s->sums.resident_mib_max = mib > s->sums.resident_mib_max ? mib : s->sums.resident_mib_max;
    ev_run(s->loop, EVRUN_NOWAIT);
    if (!snapshot_writer_is_busy(s->writer) &&
        clock_ns(CLOCK_MONOTONIC) - s->begun_ns >= s->interval_ns) {
        snapshots_begin(s);
    }
}

void snapshots_pause(struct snapshots *snapshots)
{
    if (!snapshot_writer_wait(snapshots->writer, WAIT_MS)) {
        (void)fprintf(stderr, "bench_updates: a snapshot takes too long\n");
        exit(2);
    }
    ev_run(snapshots->loop, EVRUN_NOWAIT);
    snapshots->sums.bytes_to_disk = bytes_to_disk() - snapshots->disk_before;
    if (snapshots->sums.writes > 0 && snapshots->sums.bytes_to_disk == 0) {
        (void)fprintf(stderr, "bench_updates: the snapshot's file is not on a disk\n");
        exit(2);
    }
}

const struct snapshots_sums *snapshots_sums(const struct snapshots *snapshots)
{
    return &snapshots->sums;
}
