#include "tests/bench/answers/meter.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/cleanup.h"
#include "common/dns/dns.h"

static uint64_t meter_ns_of(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now); /* cannot fail for these clocks */
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t meter_now_ns(void)
{
    return meter_ns_of(CLOCK_MONOTONIC);
}

/* ---- CPU time ---- */

/* The first number of a thread's schedstat: its nanoseconds on a CPU. */
static double meter_thread_cpu_ns(const char *pid, const char *thread)
{
    char path[600]; /* two directory entries of at most 255 bytes and the rest */
    (void)snprintf(path, sizeof(path), "/proc/%s/task/%s/schedstat", pid, thread);
    CLEANUP_FILE FILE *file = fopen(path, "re");
    uint64_t ns = 0;
    return file && fscanf(file, "%" SCNu64, &ns) == 1 ? (double)ns : 0;
}

static double process_cpu_ns(const char *pid)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%s/task", pid);
    DIR *tasks = opendir(path);
    double ns = 0;
    for (const struct dirent *task; tasks && (task = readdir(tasks));) {
        if (task->d_name[0] != '.') {
            ns += meter_thread_cpu_ns(pid, task->d_name);
        }
    }
    if (tasks) {
        (void)closedir(tasks);
    }
    return ns;
}

static double processes_cpu_ns(const char *pids)
{
    double ns = 0;
    while (*pids) {
        char pid[32] = "";
        size_t len = strcspn(pids, ",");
        if (len < sizeof(pid)) {
            memcpy(pid, pids, len);
            ns += process_cpu_ns(pid);
        }
        pids += len + (pids[len] == ',');
    }
    return ns;
}

void meter_start(struct meter *meter)
{
    *meter = (struct meter){.server_pids = meter->server_pids};
    meter->server_cpu_ns = processes_cpu_ns(meter->server_pids);
    meter->own_cpu_ns = (double)meter_ns_of(CLOCK_PROCESS_CPUTIME_ID);
    meter->start_ns = meter_now_ns();
}

/* ---- Answers ---- */

void meter_answer(struct meter *meter, const uint8_t *header)
{
    unsigned rcode = header[3] & DNS_MASK_RCODE;
    unsigned records = (unsigned)header[6] << 8 | header[7];
    meter->answers++;
    if (rcode == DNS_RCODE_NOERROR && records > 0) {
        meter->with_records++;
    } else if (rcode == DNS_RCODE_NOERROR) {
        meter->nodata++;
    } else if (rcode == DNS_RCODE_NXDOMAIN) {
        meter->nxdomain++;
    } else {
        meter->others++;
    }
}

static size_t meter_bucket_of(uint64_t ns)
{
    if (ns >> LATENCY_SUB_BITS == 0) {
        return (size_t)ns;
    }
    unsigned shift = 63U - (unsigned)__builtin_clzll(ns) - LATENCY_SUB_BITS;
    return ((size_t)shift << LATENCY_SUB_BITS) + (size_t)(ns >> shift);
}

/* The bucket's smallest latency. */
static uint64_t bucket_ns(size_t bucket)
{
    size_t octave = bucket >> LATENCY_SUB_BITS;
    if (octave <= 1) {
        return bucket;
    }
    return (uint64_t)(bucket - ((octave - 1) << LATENCY_SUB_BITS)) << (octave - 1);
}

void meter_latency(struct meter *meter, uint64_t ns)
{
    meter->latencies[meter_bucket_of(ns)]++;
}

static double percentile_us(const struct meter *meter, double part)
{
    uint64_t total = 0, seen = 0;
    for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
        total += meter->latencies[i];
    }
    for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
        seen += meter->latencies[i];
        if (seen > 0 && (double)seen >= part * (double)total) {
            return (double)bucket_ns(i) / 1e3;
        }
    }
    return 0;
}

void meter_print(const struct meter *meter)
{
    double seconds = (double)(meter_now_ns() - meter->start_ns) / 1e9;
    double server_us = (processes_cpu_ns(meter->server_pids) - meter->server_cpu_ns) / 1e3;
    double own_us = ((double)meter_ns_of(CLOCK_PROCESS_CPUTIME_ID) - meter->own_cpu_ns) / 1e3;
    double answers = meter->answers ? (double)meter->answers : 1;
    printf("seconds %.4f\nqps %.1f\n", seconds, (double)meter->answers / seconds);
    printf("server_us %.4f\nserver_used %.4f\n", server_us / answers, server_us / 1e6 / seconds);
    printf("generator_us %.4f\ngenerator_used %.4f\n", own_us / answers, own_us / 1e6 / seconds);
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {
        {"sent", meter->sent},
        {"answers", meter->answers},
        {"lost", meter->lost},
        {"errors", meter->errors},
        {"records", meter->with_records},
        {"nodata", meter->nodata},
        {"nxdomain", meter->nxdomain},
        {"others", meter->others},
        {"connections", meter->connections},
    };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        printf("%s %" PRIu64 "\n", counts[i].name, counts[i].value);
    }
    printf("p50_us %.1f\np99_us %.1f\n", percentile_us(meter, 0.5), percentile_us(meter, 0.99));
}
