#include "common/base/process_metrics.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/metrics.h"

/* Fits either file: at most 52 numbers of 20 digits, and a name of 64 bytes. */
enum { FILE_MAX = 2048 };

static int stat_fd = -1, memory_fd = -1;
static DIR *descriptors; /* opened files, each an entry */

void process_metrics_open(void)
{
    stat_fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    memory_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    descriptors = opendir("/proc/self/fd");
}

/* Returns false if the file cannot be read. */
static bool process_metrics_read_file(int fd, char text[FILE_MAX])
{
    ssize_t n = fd >= 0 ? pread(fd, text, FILE_MAX - 1, 0) : -1;
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* Returns the field number `index`, from 0; 0: there is none. */
static uint64_t process_metrics_field(const char *text, unsigned index)
{
    for (; text && index > 0; index--) {
        text = strchr(text, ' ');
        text = text ? text + 1 : NULL;
    }
    return text ? strtoull(text, NULL, 10) : 0;
}

static void write_memory(struct metrics_page *page)
{
    char text[FILE_MAX];
    if (process_metrics_read_file(memory_fd, text)) {
        double page_bytes = (double)sysconf(_SC_PAGESIZE);
        metrics_gauge(page, "virtual_memory_bytes", "Address space in use.",
                      (double)process_metrics_field(text, 0) * page_bytes);
        metrics_gauge(page, "resident_memory_bytes", "Memory in use.",
                      (double)process_metrics_field(text, 1) * page_bytes);
    }
}

/* Skips the name, field 2 of proc(5), which may have spaces and parentheses of its own. */
static void write_threads(struct metrics_page *page)
{
    enum { AFTER_NAME = 2, THREADS = 20 };
    char text[FILE_MAX];
    const char *name_end = process_metrics_read_file(stat_fd, text) ? strrchr(text, ')') : NULL;
    if (name_end) {
        metrics_gauge(page, "threads", "Threads.",
                      (double)process_metrics_field(name_end, THREADS - AFTER_NAME));
    }
}

static void write_descriptors(struct metrics_page *page)
{
    struct rlimit limit;
    if (descriptors) {
        uint64_t count = 0;
        rewinddir(descriptors);
        for (const struct dirent *entry; (entry = readdir(descriptors));) {
            count += entry->d_name[0] != '.';
        }
        metrics_gauge(page, "open_fds", "Open file descriptors.", (double)count);
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        metrics_gauge(page, "max_fds", "How many may be open.", (double)limit.rlim_cur);
    }
}

static uint64_t us_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

void process_metrics_write(struct buf *out, int64_t start_s)
{
    struct metrics_page page = metrics_page_begin(out, "process_");
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        metrics_seconds(&page, "cpu_seconds_total", "CPU time, in user and system mode.",
                        us_of(usage.ru_utime) + us_of(usage.ru_stime));
    }
    write_memory(&page);
    write_threads(&page);
    write_descriptors(&page);
    metrics_gauge(&page, "start_time_seconds", "When the process started, in Unix time.",
                  (double)start_s);
}
