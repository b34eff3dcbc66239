#include "tests/bench/answers/meter.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/cursor.h"
#include "common/dns/dns.h"
#include "tests/bench/answers/queries.h"
#include "tests/bench/bench.h"

uint64_t meter_now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
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
    meter->own_cpu_ns = (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID);
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

int64_t meter_frames(struct meter *meter, uint8_t *input, size_t *len)
{
    struct reader r = reader_of(input, *len);
    int64_t count = 0;
    size_t taken = 0;
    for (;;) {
        const uint8_t *message = reader_take(&r, reader_u16(&r));
        if (!message || r.pos - taken < QUERY_FRAME + DNS_HEADER_SIZE) {
            break;
        }
        meter_answer(meter, message);
        taken = r.pos;
        count++;
    }
    memmove(input, input + taken, *len - taken);
    *len -= taken;
    return count;
}

void meter_print(const struct meter *meter)
{
    double seconds = (double)(meter_now_ns() - meter->start_ns) / 1e9;
    double server_us = (processes_cpu_ns(meter->server_pids) - meter->server_cpu_ns) / 1e3;
    double own_us = ((double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) - meter->own_cpu_ns) / 1e3;
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
    printf("p50_us %.1f\np99_us %.1f\n", (double)histogram_percentile(&meter->latencies, 0.5) / 1e3,
           (double)histogram_percentile(&meter->latencies, 0.99) / 1e3);
}
